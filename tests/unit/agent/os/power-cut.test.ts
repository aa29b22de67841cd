import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Booted, BootRequest } from '../../../../src/agent/backends/backend.ts'
import { findProcess, noteProcess, type VmmProcess } from '../../../../src/agent/backends/vmm-process.ts'
import { ImageCache } from '../../../../src/agent/images/image-cache.ts'
import { ensureDir, writeDurable } from '../../../../src/agent/os/files.ts'
import type { Processes } from '../../../../src/agent/os/process.ts'
import { CreateSlots } from '../../../../src/agent/reconcile/create-slots.ts'
import { Engine } from '../../../../src/agent/reconcile/engine.ts'
import { QuotaLedger } from '../../../../src/agent/reconcile/quota.ts'
import { fileDesired } from '../../../../src/agent/records/desired-state.ts'
import { Identity } from '../../../../src/agent/records/identity.ts'
import { agentLayout, type VmLayout } from '../../../../src/agent/records/layout.ts'
import { clearLeftovers, fileRecords } from '../../../../src/agent/records/vm-records.ts'
import { ensureHostKey } from '../../../../src/agent/seed/host-key.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { DesiredStateSchema, SnapshotSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { FakeBackend } from '../../../contract/backend/fake-backend.ts'
import { CutDisk } from '../../../support/cut-disk.ts'
import { UserNetwork } from '../../../support/user-network.ts'
import { aVm, FakeClock, ID, OTHER } from '../reconcile/rig.ts'

const FLEET = 'f'.repeat(32)
const IMAGE = Buffer.alloc(2048, 'an image ')
const SHA = createHash('sha256').update(IMAGE).digest('hex')
const PROCESS: VmmProcess = {
  identity: { pid: 4242, startTime: '7', bootId: 'boot-1' },
  startedAt: new Date(0),
  acceleration: 'tcg',
  machine: 'fake-1',
}
/** Of a host that was not rebooted: the process of the note runs. */
const known = { hasArgument: () => undefined, cwd: () => undefined, identify: () => undefined }
const processes = { ...known, alive: () => true, uptimeMs: () => 0 } as unknown as Processes

/** Its disks and process notes are files, written as the real ones are. */
class FileBackend extends FakeBackend {
  override async prepareRootDisk(vm: VmLayout): Promise<void> {
    this.calls.push(`prepareRootDisk ${vm.id}`)
    await writeDurable('record.save', vm.disk, `disk of ${vm.id}`)
  }
  override async boot(request: BootRequest, signal: AbortSignal): Promise<Booted> {
    const booted = await super.boot(request, signal)
    await noteProcess(request.vm, PROCESS)
    return booted
  }
}

const vm = (id: string, change: Parameters<typeof aVm>[0] = {}): VmSpec =>
  aVm({ vmId: id, name: id.slice(0, 3), imageUrl: '', imageSha256: SHA, diskGb: 1, ...change })

/** An agent without its socket, on a state directory. */
async function openAgent(stateDir: string, backend = new FileBackend()) {
  const layout = agentLayout(stateDir)
  await ensureDir('state.dir', stateDir)
  await clearLeftovers(layout)
  const identity = await Identity.load(layout.identity)
  const images = await ImageCache.open(layout.images)
  const [records, desired] = [fileRecords(layout), fileDesired(layout.desired)]
  const engine = new Engine({
    passes: {
      layout,
      records,
      backend,
      network: new UserNetwork(),
      images,
      seeds: { write: async () => {}, hostKey: ensureHostKey },
      ledger: new QuotaLedger({ vcpus: 0, memMb: 0, diskGb: 0 }),
      slots: new CreateSlots(4),
      processes: { bootId: () => 'boot-1', uptimeMs: () => 1_000 },
      clock: new FakeClock(),
      log: silentLog,
      stopGraceMs: 0,
    },
    desired,
    epochs: identity,
    images,
    capacity: () => undefined,
    consoleEnd: () => 0n,
  })
  await engine.start({ tick: false })
  const want = async (epoch: bigint, vms: VmSpec[], settle = true) => {
    await engine.accept(create(SnapshotSchema, { epoch, state: create(DesiredStateSchema, { vms }) }))
    if (settle) await engine.idle()
  }
  return { layout, identity, images, records, desired, engine, backend, want }
}
type Agent = Awaited<ReturnType<typeof openAgent>>

/** What the agent has answered for, at one moment. */
interface Acknowledged {
  steps: number
  hostId?: string
  fleetId?: string
  epoch?: bigint
  image?: boolean
  /** VMs that were created, and how they must be found; `gone` = their end was told. */
  vms?: Record<string, 'on' | 'off' | 'gone'>
}

/** A life of an agent, with what it acknowledged on the way. */
async function live(stateDir: string, disk: CutDisk): Promise<Acknowledged[]> {
  const told: Acknowledged[] = []
  const tell = (what: Omit<Acknowledged, 'steps'>) => told.push({ ...told.at(-1), ...what, steps: disk.steps.length })
  const agent = await openAgent(stateDir)
  tell({ hostId: agent.identity.hostId })
  await agent.identity.adopt(FLEET, 'laptop')
  tell({ fleetId: FLEET })
  const put = await agent.images.openPut(SHA, IMAGE.length, 0)
  for (let at = 0; at < IMAGE.length; at += 1024) await put.write(IMAGE.subarray(at, at + 1024))
  await put.finish()
  tell({ image: true })
  await agent.want(1n, [vm(ID), vm(OTHER, { hostCertRequired: true, sshHostCert: 'a certificate' })])
  tell({ epoch: 1n, vms: { [ID]: 'on', [OTHER]: 'on' } })
  await agent.want(2n, [vm(ID, { powerState: 'stopped' }), vm(OTHER)])
  tell({ epoch: 2n, vms: { [ID]: 'off', [OTHER]: 'on' } })
  await agent.want(3n, [vm(ID, { tombstone: { graceS: 0n } }), vm(OTHER)])
  tell({ epoch: 3n, vms: { [ID]: 'gone', [OTHER]: 'on' } })
  await agent.want(4n, [vm(OTHER)])
  tell({ epoch: 4n })
  await agent.engine.stop()
  return told
}

/** What is missing or wrong of what was acknowledged. */
async function missing(agent: Agent, told: Acknowledged): Promise<string[]> {
  const { identity, images, records, desired, layout } = agent
  const wrong: string[] = []
  if (told.hostId !== undefined && identity.hostId !== told.hostId) wrong.push('it is another host')
  if (told.fleetId !== undefined && identity.fleetId !== told.fleetId) wrong.push('it left its fleet')
  if (told.epoch !== undefined && identity.epoch < told.epoch) wrong.push(`epoch ${identity.epoch}`)
  const kept = await desired.load()
  if (kept.kind === 'unreadable') wrong.push('the desired state is unreadable')
  if (told.epoch !== undefined && (kept.kind !== 'desired' || kept.desired.snapshot.epoch < told.epoch))
    wrong.push('the desired state is older')
  if (told.image && !images.stat(SHA).complete) wrong.push('the image is gone')
  for (const { sha256 } of images.list())
    if (
      createHash('sha256')
        .update(readFileSync(join(layout.images, sha256)))
        .digest('hex') !== sha256
    )
      wrong.push('an image is not what its name says')
  for (const [id, state] of Object.entries(told.vms ?? {})) {
    const read = await records.read(id)
    if (state === 'gone' ? read.kind !== 'absent' : read.kind === 'unreadable') wrong.push(`the record is ${read.kind}`)
    if (state === 'on' && read.kind === 'record' && read.record.bootId === '')
      wrong.push('a VM counts as never created')
    if (state === 'on' && read.kind === 'record' && !read.record.quarantine && !read.record.stopRequested) {
      const found = await findProcess(layout.vmDir(id), processes, () => 0)
      if (found?.identity.pid !== PROCESS.identity.pid) wrong.push('a running process is not found again')
    }
  }
  return wrong
}

describe('after a power cut', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'eitri-cut-'))
  })
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  it('at any step, with any loss a disk allows, an agent opens and has lost nothing it acknowledged', async () => {
    const stateDir = join(dir, 'state')
    const disk = new CutDisk(dir)
    let told: Acknowledged[]
    try {
      told = await live(stateDir, disk)
    } finally {
      disk[Symbol.dispose]()
    }
    let cuts = 0
    const wrong: string[] = []
    for (let steps = 0; steps <= disk.steps.length; steps++)
      for (const found of disk.after(steps)) {
        const place = join(dir, `cut-${++cuts}`)
        disk.restore(found, place)
        const acknowledged = told.findLast((entry) => entry.steps <= steps) ?? { steps: 0 }
        const when = `after ${steps} (${JSON.stringify(disk.steps[steps - 1])?.slice(0, 120)}), ${found.loss}`
        const problems = await reopened(join(place, 'state'), acknowledged)
        wrong.push(...problems.map((problem) => `${when}: ${problem}`))
        rmSync(place, { recursive: true, force: true })
      }
    console.log(`power cuts: ${disk.steps.length} steps, ${cuts} different losses, ${wrong.length} of them not held`)
    expect(wrong).toEqual([])
    expect(disk.steps.length).toBeGreaterThan(100)
    expect(cuts).toBeGreaterThan(2 * disk.steps.length)
  }, 120_000)

  async function reopened(stateDir: string, told: Acknowledged): Promise<string[]> {
    try {
      const backend = new FileBackend()
      for (const [id, state] of Object.entries(told.vms ?? {}))
        if (state === 'on') backend.guests.set(id, { acceleration: 'tcg', startedAt: new Date(0) })
      const agent = await openAgent(stateDir, backend)
      const wrong = await missing(agent, told)
      await agent.engine.idle()
      const { notices } = agent.engine.report()
      const again = await missing(agent, told)
      await agent.engine.stop()
      const harm = backend.calls.filter((call) => /^(prepareRootDisk|boot)/.test(call) && created(told, call))
      return [...new Set([...wrong, ...again, ...notices, ...harm])]
    } catch (error) {
      return [`it does not open: ${error instanceof Error ? error.stack : String(error)}`]
    }
  }
  const created = (told: Acknowledged, call: string) => told.vms?.[call.split(' ')[1] ?? ''] === 'on'
})

describe('a state file that is damaged', () => {
  let stateDir: string
  beforeEach(async () => {
    stateDir = mkdtempSync(join(tmpdir(), 'eitri-damaged-'))
    const agent = await openAgent(stateDir)
    const put = await agent.images.openPut(SHA, IMAGE.length, 0)
    for (let at = 0; at < IMAGE.length; at += 1024) await put.write(IMAGE.subarray(at, at + 1024))
    await put.finish()
    await agent.want(1n, [vm(ID), vm(OTHER)])
    await agent.engine.stop()
  })
  afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

  const DAMAGES: Record<string, (path: string) => void> = {
    'with garbage behind it': (path) => appendFileSync(path, '\0garbage'),
    'cut short': (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2)),
    'of no bytes': (path) => truncateSync(path, 0),
    'of another version': (path) => {
      const text = readFileSync(path, 'latin1')
      writeFileSync(
        path,
        text.replace(/"version": ?\d+|^eitri-desired \d+/, (known) => known.replace(/\d+$/, '99')),
        'latin1',
      )
    },
  }
  const start = async () => {
    const backend = new FileBackend()
    backend.guests.set(ID, { acceleration: 'tcg', startedAt: new Date(0) })
    backend.guests.set(OTHER, { acceleration: 'tcg', startedAt: new Date(0) })
    const agent = await openAgent(stateDir, backend)
    await agent.engine.idle()
    return { ...agent, report: agent.engine.report() }
  }

  it.each(Object.keys(DAMAGES))(
    '%s, of one VM: the agent starts, says so, keeps the file and lets the VM be',
    async (how) => {
      const { record } = agentLayout(stateDir).vmDir(ID)
      DAMAGES[how]!(record)
      const bytes = readFileSync(record)
      const { report, backend, engine, want } = await start()
      expect(report.notices).toEqual([expect.stringContaining(record)])
      expect(report.vms.map(({ vmId }) => vmId)).toContain(OTHER)
      await want(2n, [vm(ID, { powerState: 'stopped', forceStop: true }), vm(OTHER, { tombstone: { graceS: 0n } })])
      expect([...backend.guests.keys()]).toEqual([ID])
      expect(backend.calls.filter((call) => call.includes(ID))).toEqual([])
      expect(readFileSync(record)).toEqual(bytes)
      await engine.stop()
    },
  )

  it.each(Object.keys(DAMAGES))(
    '%s, of the desired state: nothing is done until the next, and it is kept beside',
    async (how) => {
      const { desired } = agentLayout(stateDir)
      DAMAGES[how]!(desired)
      const bytes = readFileSync(desired)
      const { report, backend, engine, want } = await start()
      expect(report.notices).toEqual([expect.stringContaining(desired)])
      expect(backend.calls).toEqual([])
      expect([...backend.guests.keys()]).toEqual([ID, OTHER])
      for (const epoch of [2n, 3n]) await want(epoch, [vm(ID), vm(OTHER)])
      expect(engine.report().notices).toEqual([])
      expect(readFileSync(`${desired}.unreadable`)).toEqual(bytes)
      await engine.stop()
    },
  )

  it.each(Object.keys(DAMAGES))('%s, of who the host is: named by file and reason, never replaced', async (how) => {
    const { identity } = agentLayout(stateDir)
    DAMAGES[how]!(identity)
    const bytes = readFileSync(identity)
    await expect(openAgent(stateDir)).rejects.toMatchObject({
      code: how === 'of another version' ? 'agent/identity-newer' : 'agent/identity-damaged',
      params: { file: identity },
    })
    expect(readFileSync(identity)).toEqual(bytes)
  })

  it.each(['with garbage behind it', 'cut short', 'of no bytes'])(
    '%s, of a process: the note counts as none, and what the process itself wrote is asked',
    async (how) => {
      const layout = agentLayout(stateDir).vmDir(ID)
      DAMAGES[how]!(layout.hypervisor)
      let asked = 0
      const pidfile = async () => void asked++
      expect(await findProcess(layout, processes, () => 0, pidfile as () => Promise<undefined>)).toBeUndefined()
      expect(asked).toBe(1)
    },
  )
})
