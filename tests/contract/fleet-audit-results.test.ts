import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

let rig: ScriptedHost
beforeEach(async () => {
  rig = await ScriptedHost.open()
})
afterEach(async () => await rig[Symbol.asyncDispose]())

/** The host says this, having seen all that it was told. */
async function say({
  vms,
}: {
  vms: { vmId: string; phase: string; power?: string; reason?: string; detail?: string }[]
}) {
  const told = () => rig.agent.snapshots.at(-1)
  const named = () => vms.every(({ vmId }) => told()?.state?.vms.some((vm) => vm.vmId === vmId))
  await vi.waitFor(() => expect(named()).toBe(true), { timeout: 5_000 })
  rig.agent.report({ vms, lastSeenEpoch: told()?.epoch ?? 0n })
}

const entriesOf = async (query: object) => (await rig.client.audit.listAudit(query)).entries
const resultOf = async (action: string) => (await entriesOf({ action }))[0]?.result

describe('the result of an entry', () => {
  it('is told once its host reports it, with its duration and steps, and the end is no row of its own', async () => {
    const vmId = await rig.vm('web')
    expect(await resultOf('vm.create')).toBe('running')
    await say({ vms: [{ vmId, phase: 'ready', power: 'running' }] })
    await vi.waitFor(async () => expect(await resultOf('vm.create')).toBe('done'), { timeout: 5_000 })
    const [entry, ...more] = await entriesOf({ vm: 'web' })
    expect(more).toEqual([])
    expect(entry?.tookMs).toBeGreaterThanOrEqual(0n)
    expect(entry?.steps.map(({ name, state }) => `${name}: ${state}`)).toEqual([
      'Tell rack: done',
      'Make the VM: done',
      'Start it: done',
    ])
    const { tasks } = await rig.client.tasks.listTasks({})
    expect(tasks).toMatchObject([{ id: entry?.taskId, kind: 'create_vm', state: 'done', vmId, client: 'api' }])
  })

  it('narrows the trail, page by page and in an export', async () => {
    const vmId = await rig.vm('web')
    await rig.vm('db')
    const failed = { phase: 'failed', reason: 'vm/create-failed', detail: 'no space' }
    await say({ vms: [{ vmId, ...failed }] })
    await vi.waitFor(async () => expect(await entriesOf({ result: 'failed' })).toHaveLength(1), { timeout: 5_000 })
    expect(await entriesOf({ result: 'failed' })).toMatchObject([{ vmId, fault: { code: 'vm/create-failed' } }])
    expect((await entriesOf({ result: 'running' })).map(({ detail }) => detail['name'])).toEqual(['db'])
    const exported = []
    for await (const page of rig.client.audit.exportAudit({ filter: { result: 'failed' } }))
      exported.push(...page.entries)
    expect(exported).toMatchObject([{ vmId, result: 'failed' }])
    const typed = await rig.eitri('audit', '--result', 'failed')
    expect(typed.out).toMatch(/RESULT +TOOK[\s\S]*vm\.create .*failed/)
    await expect(entriesOf({ result: 'splendid' }).catch((error) => fromConnectError(error).code)).resolves.toBe(
      'input/invalid',
    )
  })

  it('of what is done with its entry is done at once, of what nobody follows it is empty', async () => {
    await rig.client.tenants.createTenant({ name: 'lab' })
    await rig.client.audit.setAuditRetention({ days: 30 })
    expect([await resultOf('audit.retention'), await resultOf('host.add')]).toEqual(['done', ''])
  })

  it('is still told when the control plane came back, of the same task', async () => {
    const vmId = await rig.vm('web')
    const [before] = await entriesOf({ vm: 'web' })
    rig = await rig.restart()
    expect(await entriesOf({ result: 'running' })).toMatchObject([{ taskId: before?.taskId }])
    await say({ vms: [{ vmId, phase: 'ready', power: 'running' }] })
    await vi.waitFor(async () => expect(await resultOf('vm.create')).toBe('done'), { timeout: 5_000 })
    await rig.client.vms.stopVm({ vm: 'web' })
    await rig.client.vms.startVm({ vm: 'web' })
    expect(await resultOf('vm.stop')).toBe('superseded')
  })

  it('a task of a host is not cancelled', async () => {
    await rig.vm('web')
    const [task] = (await rig.client.tasks.listTasks({})).tasks
    const refused = rig.client.tasks.cancelTask({ id: task?.id ?? '' }).catch((error) => fromConnectError(error).code)
    await expect(refused).resolves.toBe('task/not-cancelled')
  })
})
