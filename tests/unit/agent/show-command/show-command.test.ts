import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BootRequest } from '../../../../src/agent/backends/backend.ts'
import { noteProcess } from '../../../../src/agent/backends/vmm-process.ts'
import { macOf } from '../../../../src/agent/network/mac.ts'
import type { Processes } from '../../../../src/agent/os/process.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { newRecord, type VmRecord } from '../../../../src/agent/records/vm-record.ts'
import { procArgv, showCommand } from '../../../../src/agent/show-command/show-command.ts'
import { showJson, showText } from '../../../../src/agent/show-command/show-text.ts'
import { Fault } from '../../../../src/ipc/faults.ts'
import { FakeBackend } from '../../../contract/backend/fake-backend.ts'
import { aVm, ID, MemoryRecords, OTHER } from '../reconcile/rig.ts'

const identity = { pid: 77, startTime: '1', bootId: 'boot' }
const quarantine = { elapsedMs: 0, sinceUptimeMs: undefined, bootId: 'boot', tombstone: '' }

/** Says of a boot what it was asked for. */
class ShownBackend extends FakeBackend {
  gone = false
  async command({ spec, image, machine }: BootRequest) {
    if (this.gone) throw new Fault('vmm/machine-gone', 'permanent', { machine })
    const kernel = image.kind === 'kernel' ? [{ args: ['-append', image.cmdline], why: 'kernel command line' }] : []
    return [
      { args: ['vmm'], why: 'the hypervisor' },
      { args: ['-m', String(spec.memMb)], why: 'memory, MiB' },
      { args: ['-machine', machine], why: 'machine type' },
      ...kernel,
    ]
  }
}

describe('the command line of a VM', () => {
  let stateDir: string
  let records: MemoryRecords
  let backend: ShownBackend
  let runs: string[] | undefined
  let unreadable: boolean
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'eitri-show-'))
    records = new MemoryRecords()
    backend = new ShownBackend()
    runs = undefined
    unreadable = false
    await records.save(of(ID))
  })
  afterEach(() => rm(stateDir, { recursive: true }))

  const of = (vmId: string, change: Partial<VmRecord> = {}, spec = {}): VmRecord => ({
    ...newRecord(aVm({ vmId, ...spec })),
    machine: 'pc-1',
    ...change,
  })
  const show = async (ref = 'web') => {
    const layout = agentLayout(stateDir)
    const known = { identify: () => undefined, hasArgument: () => undefined, cwd: () => undefined }
    const processes = { ...known, alive: () => runs !== undefined } as unknown as Processes
    if (runs) {
      await mkdir(layout.vmDir(ID).dir, { recursive: true })
      const started = { identity, startedAt: new Date(0), acceleration: 'tcg', machine: 'pc-1' }
      await noteProcess(layout.vmDir(ID), started)
    }
    const argvOf = async (pid: number) => (pid === 77 && !unreadable ? runs : undefined)
    const nicsOf = async () => [{ mac: macOf(ID) }]
    const deps = { layout, records, processes, backendOf: () => backend, nicsOf, now: () => 0, argvOf }
    return await showCommand(deps, ref, new AbortController().signal)
  }

  it('is what the next start would use when it does not run, by name or by id', async () => {
    for (const ref of ['web', ID]) {
      const shown = await show(ref)
      expect(shown).toMatchObject({ vmId: ID, name: 'web', pid: undefined })
      expect(showJson(shown)).toMatchObject({
        running: false,
        args: ['vmm', '-m', '512', '-machine', 'pc-1'],
        differs: false,
      })
    }
  })

  it('is what really runs when it does, with the next start beside it', async () => {
    runs = ['vmm', '-m', '256', '-machine', 'pc-1']
    const shown = await show()
    expect(showJson(shown)).toMatchObject({ running: true, pid: 77, args: runs, differs: true })
    expect(showText(shown).split('\n').slice(3)).toEqual([
      '  vmm                           # the hypervisor',
      '- -m                            # not in the next start',
      '- 256',
      '+ -m                            # memory, MiB',
      '+ 512',
      '  -machine                      # machine type',
      '  pc-1',
    ])
    runs = ['vmm', '-m', '512', '-machine', 'pc-1']
    expect(showText(await show())).toContain('its next start would use the same')
  })

  it('of a running VM is shown even when its next start is not possible, with why', async () => {
    runs = ['vmm', '-old']
    backend.gone = true
    const shown = await show()
    expect(showJson(shown)).toMatchObject({ args: ['vmm', '-old'], differs: false })
    expect(showText(shown)).toContain('machine type pc-1')
    runs = undefined
    await expect(show()).rejects.toMatchObject({ code: 'vmm/machine-gone' })
  })

  it('of a kernel image has what lies unpacked in the cache', async () => {
    await records.save(of(ID, {}, { imageKind: 'kernel' }))
    await expect(show()).rejects.toMatchObject({ code: 'image/not-found' })
    const unpacked = join(agentLayout(stateDir).images, `${aVm().imageSha256}.kernel`)
    await mkdir(unpacked, { recursive: true })
    await writeFile(join(unpacked, 'cmdline'), 'console=ttyS0\n')
    expect(showJson(await show())['args']).toContain('console=ttyS0')
  })

  it('of a VM nobody knows is a fault, and so is a name that two have', async () => {
    for (const ref of ['nobody', 'f'.repeat(32), '../..', ''])
      await expect(show(ref)).rejects.toMatchObject({ code: 'vm/not-found' })
    await records.save(of(OTHER))
    await expect(show()).rejects.toMatchObject({ code: 'vm/ambiguous', params: { ids: `${ID}, ${OTHER}` } })
  })

  it('by name is that of the VM in use before one in quarantine', async () => {
    await records.save(of(OTHER, { quarantine }))
    expect((await show()).vmId).toBe(ID)
    await records.remove(ID)
    expect((await show()).vmId).toBe(OTHER)
  })

  it('whose record cannot be read is named as such, not as unknown', async () => {
    records.unreadable.add(ID)
    await expect(show()).rejects.toMatchObject({ code: 'vm/record-unreadable' })
  })

  it('in a place this user may not read is a fault that names the place', async () => {
    records.list = () => Promise.reject(new Error('EACCES: permission denied'))
    await expect(show()).rejects.toMatchObject({ code: 'input/invalid', params: { field: '--state-dir' } })
  })

  it('of a process whose arguments cannot be read is the next start, and is said to be', async () => {
    runs = ['vmm']
    unreadable = true
    const shown = await show()
    expect(showJson(shown)).toMatchObject({
      running: true,
      differs: false,
      args: ['vmm', '-m', '512', '-machine', 'pc-1'],
    })
    expect(showText(shown)).toContain('whose arguments cannot be read here')
    expect(showText(shown)).not.toMatch(/^[+-] /m)
  })

  it('cannot move the cursor of a terminal', async () => {
    runs = ['vmm', '\x1b[2Jx']
    expect(showText(await show())).toContain('"\\u001b[2Jx"')
  })

  it('is read from the process itself', async () => {
    expect(await procArgv(process.pid)).toEqual(expect.arrayContaining([process.argv[0]]))
    expect(await procArgv(2 ** 30)).toBeUndefined()
  })
})
