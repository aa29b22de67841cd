import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { fileDesired } from '../../../src/agent/records/desired-state.ts'
import type { Report } from '../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmSpec, VmSpecSchema } from '../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { LIMITS, MiB } from '../../../src/ipc/units.ts'
import { politeSector } from '../boot-sector.ts'
import { type CrashWorld, digest, type Goal, newId, type StartOptions } from './crash-world.ts'
import type { Link } from './link.ts'

/** What a step finds of its VM, and leaves. */
export type VictimState = 'absent' | 'running' | 'stopped' | 'quarantined'

/** One thing a person or a host does. Played again after a crash, it goes on where it was. */
export interface Step {
  name: string
  needs: VictimState
  gives: VictimState
  start?: StartOptions
  /** With no agent running. */
  prepare?(world: CrashWorld, victim: Victim): void
  play(round: Round): Promise<void>
}

/** The VM a round acts on, and its image. */
export class Victim {
  readonly id = newId()
  readonly image: Buffer
  state: VictimState = 'absent'
  spec: VmSpec
  constructor(image = politeSector(newId())) {
    this.image = image
    const sizes = { vcpus: 1, memMb: 32, diskGb: 1 }
    const powerState = 'running'
    this.spec = create(VmSpecSchema, { vmId: this.id, name: 'victim', imageSha256: this.sha256, ...sizes, powerState })
  }
  get sha256(): string {
    return digest(this.image)
  }
  with(change: MessageInitShape<typeof VmSpecSchema>): VmSpec {
    const { $typeName: _, ...before } = this.spec
    this.spec = create(VmSpecSchema, { ...before, ...change } as MessageInitShape<typeof VmSpecSchema>)
    return this.spec
  }
}

/** One play of a step, and its repetition: the n-th command has the same epoch both times. */
export class Round {
  readonly world: CrashWorld
  readonly victim: Victim
  readonly #bystanders: VmSpec[]
  readonly #epochs: bigint[] = []
  #at = 0
  link!: Link
  /** A second VM of the step, gone at its end. */
  readonly otherId = newId()
  /** The agent is the one that will crash, or is only watched. */
  first = true

  constructor(world: CrashWorld, victim: Victim, bystanders: VmSpec[]) {
    this.world = world
    this.victim = victim
    this.#bystanders = bystanders
  }

  again(): void {
    this.first = false
    this.#at = 0
  }

  /** Sends the desired state unless the agent holds it already, and waits for what it is to bring about. */
  async want(vms: VmSpec[], goal: Goal): Promise<Report | undefined> {
    const { world, link } = this
    this.#epochs[this.#at] ??= ++world.epoch
    const epoch = this.#epochs[this.#at++]!
    if (link.hello.lastSeenEpoch > epoch) return undefined
    world.wanted = [...this.#bystanders, ...vms]
    // What was acknowledged goes on by itself; all else a control plane sends again.
    if (world.ackedEpoch < epoch) link.send(epoch, world.wanted)
    await link.until((report) => report.lastSeenEpoch >= epoch)
    // An agent that died between the two writes of a snapshot has its epoch and not yet its state.
    while (!(await isKept(world, epoch))) {
      if (!world.alive) throw new Error('the agent died')
      await pause(20)
    }
    world.ackedEpoch = epoch
    return await link.until(goal)
  }

  async push(image = this.victim.image): Promise<void> {
    const have = await this.link.push(image, digest(image))
    if (have === BigInt(image.length)) this.world.expected.images.add(digest(image))
  }
}

async function isKept(world: CrashWorld, epoch: bigint): Promise<boolean> {
  const read = await fileDesired(join(world.stateDir, 'desired.bin')).load()
  return read.kind === 'desired' && read.desired.snapshot.epoch >= epoch
}

export const rowIs =
  (id: string, power: string, detail = ''): Goal =>
  (report) =>
    report.vms.some((vm) => vm.vmId === id && vm.power === power && vm.phase === 'ready' && vm.detail === detail)
const isQuarantined =
  (id: string): Goal =>
  (report) =>
    report.quarantined.some((vm) => vm.vmId === id && vm.detail === '')
const failed =
  (id: string): Goal =>
  (report) =>
    report.vms.some((vm) => vm.vmId === id && vm.reason !== '')

const imagesOf = (world: CrashWorld): string => join(world.stateDir, 'images')

function plant(world: CrashWorld, name: string, bytes: number | string): void {
  mkdirSync(imagesOf(world), { recursive: true })
  writeFileSync(join(imagesOf(world), name), typeof bytes === 'number' ? Buffer.alloc(bytes) : bytes)
}

export const startAgain: Step = {
  name: 'the agent starts again',
  needs: 'running',
  gives: 'running',
  prepare(world) {
    // Of writers that died, of a record that never came, and of a starter that died while it took a dead one's lock.
    plant(world, 'left.tmp', '')
    writeFileSync(join(world.stateDir, 'identity.json.0123456789ab.tmp'), '')
    mkdirSync(world.vmFile('e'.repeat(32), ''), { recursive: true })
    symlinkSync('4194999:1:another-boot', join(world.stateDir, 'agent.lock.break'))
    world.leaveProbe()
  },
  play: async ({ link, victim }) => void (await link.until(rowIs(victim.id, 'running'))),
}

export const createFromUrl: Step = {
  name: 'a VM is created from a URL',
  needs: 'absent',
  gives: 'running',
  prepare(world, victim) {
    world.server.forgets = true
    if (!world.expected.images.has(victim.sha256)) plant(world, `${victim.sha256}.part`, 100)
  },
  async play(round) {
    const { victim, world } = round
    const imageUrl = await world.server.url(victim.image)
    const waiting: Goal = (report) => report.vms.some((vm) => vm.vmId === victim.id && vm.hostPublicKey !== '')
    await round.want([victim.with({ imageUrl, hostCertRequired: true })], waiting)
    await round.want(
      [victim.with({ sshHostCert: 'ssh-ed25519-cert-v01@openssh.com AAAA' })],
      rowIs(victim.id, 'running'),
    )
    world.expected.images.add(victim.sha256)
  },
}

const createPushed: Step = {
  name: 'a VM is created from a pushed image',
  needs: 'absent',
  gives: 'running',
  async play(round) {
    const { victim } = round
    await round.want([victim.spec], (report) => report.vms.some((vm) => vm.vmId === victim.id))
    await round.push()
    await round.link.until(rowIs(victim.id, 'running'))
  },
}

export const createKernel: Step = {
  name: 'a VM is created from a kernel image',
  needs: 'absent',
  gives: 'running',
  async play(round) {
    const { victim } = round
    const { imageSha256 } = victim.with({ imageKind: 'kernel', imageSha256: digest(kernelTar(victim.id, 4096)) })
    await round.want([victim.spec], (report) => report.vms.some((vm) => vm.vmId === victim.id))
    await round.push(kernelTar(victim.id, 4096))
    await round.link.until(rowIs(victim.id, 'running'))
    round.world.expected.images.add(imageSha256)
  },
}

export const stopGently: Step = {
  name: 'a VM is asked to power itself off',
  needs: 'running',
  gives: 'stopped',
  async play(round) {
    await round.want([round.victim.with({ powerState: 'stopped' })], rowIs(round.victim.id, 'stopped'))
  },
}

export const stopByForce: Step = {
  name: 'a VM is stopped by force',
  needs: 'running',
  gives: 'stopped',
  async play(round) {
    const { victim } = round
    await round.want([victim.with({ powerState: 'stopped', forceStop: true })], rowIs(victim.id, 'stopped'))
  },
}

const boot: Step = {
  name: 'a VM is started',
  needs: 'stopped',
  gives: 'running',
  async play(round) {
    const { victim } = round
    await round.want([victim.with({ powerState: 'running', forceStop: false })], rowIs(victim.id, 'running'))
  },
}

const restart: Step = {
  name: 'a VM is restarted',
  needs: 'running',
  gives: 'running',
  async play(round) {
    const { victim } = round
    const pid = round.world.look().vmms.get(victim.id)?.[0]
    if (round.first) victim.with({ restartCount: victim.spec.restartCount + 1n })
    const isNew: Goal = (report) =>
      rowIs(victim.id, 'running')(report) && (!round.first || round.world.look().vmms.get(victim.id)?.[0] !== pid)
    await round.want([victim.spec], isNew)
  },
}

/** The record says how large the disk is, after the disk is. */
const hasDisk =
  (world: CrashWorld, id: string, diskGb: number): Goal =>
  () =>
    JSON.parse(readFileSync(world.vmFile(id, 'record.json'), 'utf8')).disk_gb === diskGb

async function grow(round: Round): Promise<void> {
  const { victim, world } = round
  if (round.first) victim.with({ diskGb: victim.spec.diskGb + 1 })
  await round.want([victim.spec], hasDisk(world, victim.id, victim.spec.diskGb))
}

export const growRunning: Step = {
  name: 'the disk of a running VM grows',
  needs: 'running',
  gives: 'running',
  play: grow,
}

export const growStopped: Step = {
  name: 'the disk of a stopped VM grows',
  needs: 'stopped',
  gives: 'stopped',
  play: grow,
}

function cloneOf({ victim, otherId }: Round, change: MessageInitShape<typeof VmSpecSchema> = {}): VmSpec {
  const { $typeName: _, ...spec } = victim.spec
  const own = { vmId: otherId, name: 'clone', cloneOf: victim.id, diskGb: spec.diskGb + 1 }
  return create(VmSpecSchema, { ...spec, ...own, ...change } as MessageInitShape<typeof VmSpecSchema>)
}

async function purgeOther(round: Round): Promise<void> {
  const { victim, otherId } = round
  const deleted = cloneOf(round, { tombstone: { graceS: 0n } })
  await round.want([victim.spec, deleted], ({ destroyed }) => destroyed.includes(otherId))
  await round.want([victim.spec], ({ destroyed }) => !destroyed.includes(otherId))
}

export const cloneStopped: Step = {
  name: 'a stopped VM is cloned, and the clone purged',
  needs: 'stopped',
  gives: 'stopped',
  async play(round) {
    await round.want([round.victim.spec, cloneOf(round)], rowIs(round.otherId, 'stopped'))
    await purgeOther(round)
  },
}

export const noRoomForClone: Step = {
  name: 'a disk has no room for a clone',
  needs: 'stopped',
  gives: 'stopped',
  start: { fileBytes: 64 * 1024 },
  async play(round) {
    const { victim, otherId } = round
    const goal = round.first ? failed(otherId) : rowIs(otherId, 'stopped')
    await round.want([victim.spec, cloneOf(round)], goal)
    if (!round.first) await purgeOther(round)
  },
}

export const longConsole: Step = {
  name: 'the log of a console grows too long',
  needs: 'running',
  gives: 'running',
  prepare(world, victim) {
    const log = world.vmFile(victim.id, 'serial.log')
    rmSync(`${log}.head`, { force: true })
    writeFileSync(log, Buffer.alloc(20 * MiB, 'x'))
    truncateSync(log, LIMITS.consoleLogBytes + 20 * MiB)
  },
  async play({ link, world, victim, first }) {
    await link.until(rowIs(victim.id, 'running'))
    await link.viewConsole(victim.id)
    // A head that was noted and not cut out is cut with the next one.
    const cut = () => statSync(world.vmFile(victim.id, 'serial.log')).blocks * 512 < 10 * MiB
    const noted = () => existsSync(world.vmFile(victim.id, 'serial.log.head'))
    while (first ? !cut() : !noted()) {
      if (!world.alive) throw new Error('the agent died')
      await pause(20)
    }
  },
}

const quarantine: Step = {
  name: 'a VM is deleted',
  needs: 'running',
  gives: 'quarantined',
  async play(round) {
    const { victim } = round
    await round.want([victim.with({ tombstone: { graceS: 3600n } })], isQuarantined(victim.id))
  },
}

const undelete: Step = {
  name: 'a deleted VM is taken back',
  needs: 'quarantined',
  gives: 'running',
  async play(round) {
    const { victim } = round
    delete victim.spec.tombstone
    await round.want([victim.spec], rowIs(victim.id, 'running'))
  },
}

export const purge: Step = {
  name: 'a VM is purged',
  needs: 'running',
  gives: 'absent',
  async play(round) {
    const { victim } = round
    await round.want([victim.with({ tombstone: { graceS: 0n } })], ({ destroyed }) => destroyed.includes(victim.id))
    await round.want([], ({ destroyed }) => !destroyed.includes(victim.id))
  },
}

export const pushWrong: Step = {
  name: 'an image is pushed whose bytes are not what was promised',
  needs: 'absent',
  gives: 'absent',
  async play({ link, victim }) {
    const wrong = Buffer.alloc(victim.image.length, 'x')
    await link.push(wrong, victim.sha256).then(
      () => Promise.reject(new Error('wrong bytes were taken')),
      (error: unknown) => (/DigestMismatch|digest/i.test(String(error)) ? undefined : Promise.reject(error)),
    )
  },
}

export const pushShorter: Step = {
  name: 'an image is pushed of which more is held than it has',
  needs: 'absent',
  gives: 'absent',
  prepare: (world, victim) => plant(world, `${victim.sha256}.part`, 2 * victim.image.length),
  async play(round) {
    const { link, victim } = round
    await link.push(victim.image, victim.sha256).catch((error: unknown) => {
      if (!/are held|are here/.test(String(error))) throw error
    })
    await round.push()
  },
}

export const noRoomForImage: Step = {
  name: 'a disk has no room for an image',
  needs: 'absent',
  gives: 'absent',
  start: { fileBytes: 1.5 * MiB },
  async play(round) {
    const image = Buffer.concat([round.victim.image, Buffer.alloc(2 * MiB)])
    const pushed = await round.push(image).then(
      () => true,
      () => false,
    )
    if (pushed === round.first) throw new Error(pushed ? 'there was room after all' : 'the push does not end')
  },
}

export const noRoomForDisk: Step = {
  name: 'a disk has no room for the disk of a VM',
  needs: 'absent',
  gives: 'running',
  start: { fileBytes: 64 * 1024 },
  async play(round) {
    const { victim } = round
    await round.want([victim.spec], (report) => report.vms.some((vm) => vm.vmId === victim.id))
    await round.push()
    await round.link.until(round.first ? failed(victim.id) : rowIs(victim.id, 'running'))
  },
}

export const noRoomForKernel: Step = {
  name: 'a disk has no room for an unpacked kernel',
  needs: 'absent',
  gives: 'running',
  start: { fileBytes: 64 * 1024 },
  prepare(world, victim) {
    const tar = kernelTar(victim.id, 80 * 1024)
    const sha256 = digest(tar)
    victim.with({ imageKind: 'kernel', imageSha256: sha256 })
    mkdirSync(imagesOf(world), { recursive: true })
    writeFileSync(join(imagesOf(world), sha256), tar)
    world.expected.images.add(sha256)
  },
  async play(round) {
    const { victim } = round
    await round.want([victim.spec], round.first ? failed(victim.id) : rowIs(victim.id, 'running'))
  },
}

export const fullLog: Step = {
  name: "the agent's own log is full",
  needs: 'running',
  gives: 'running',
  start: { ownLog: true },
  prepare: (world) => {
    appendFileSync(join(world.stateDir, 'agent.log'), '')
    truncateSync(join(world.stateDir, 'agent.log'), 8 * MiB)
  },
  play: async ({ link, victim }) => void (await link.until(rowIs(victim.id, 'running'))),
}

export const damagedDesired: Step = {
  name: 'the desired state is damaged',
  needs: 'running',
  gives: 'running',
  prepare: (world) => writeFileSync(join(world.stateDir, 'desired.bin'), 'eitri-desired 1 torn'),
  play: async (round) => void (await round.want([round.victim.spec], rowIs(round.victim.id, 'running'))),
}

export const lostList: Step = {
  name: 'the list of revoked certificates is gone',
  needs: 'running',
  gives: 'running',
  prepare: (world) => rmSync(join(world.stateDir, 'revoked-certificates.krl'), { force: true }),
  play: async (round) => void (await round.want([round.victim.spec], rowIs(round.victim.id, 'running'))),
}

export const collect: Step = {
  name: 'images nothing refers to are collected',
  needs: 'absent',
  gives: 'absent',
  prepare(world) {
    const tar = kernelTar(newId(), 4096)
    const sha256 = digest(tar)
    plant(world, sha256, '')
    writeFileSync(join(imagesOf(world), sha256), tar)
    mkdirSync(join(imagesOf(world), `${sha256}.kernel`))
    for (const name of ['kernel', 'initrd', 'cmdline'])
      writeFileSync(join(imagesOf(world), `${sha256}.kernel`, name), 'x')
    world.expected.images.clear()
  },
  async play({ link, world }) {
    await link.collectImages()
    for (const { imageSha256 } of world.wanted) world.expected.images.add(imageSha256)
  },
}

/** In an order in which one mostly finds what the one before left. */
export const STEPS: readonly Step[] = [
  ...[createFromUrl, startAgain, fullLog, longConsole, restart, quarantine, undelete, stopGently, boot, stopByForce],
  ...[growStopped, cloneStopped, noRoomForClone, boot, growRunning, lostList, damagedDesired, purge],
  ...[createPushed, createKernel, collect, pushWrong, pushShorter, noRoomForImage, noRoomForDisk, noRoomForKernel],
]

/** Steps by which a VM gets from one state to another, none crashing. */
export const WAYS: Readonly<Record<VictimState, Partial<Record<VictimState, Step>>>> = {
  absent: { running: createPushed, stopped: createPushed, quarantined: createPushed },
  running: { absent: purge, stopped: stopByForce, quarantined: quarantine },
  stopped: { absent: purge, running: boot, quarantined: quarantine },
  quarantined: { absent: purge, running: undelete, stopped: undelete },
}

/** A kernel image whose kernel is of `bytes`, has a header QEMU takes, and halts. */
function kernelTar(mark: string, bytes: number): Buffer {
  const kernel = Buffer.alloc(bytes, 0xf4)
  kernel[0x1f1] = 1
  kernel.write('HdrS', 0x202)
  kernel.writeUInt16LE(0x0206, 0x206)
  kernel[0x211] = 1
  return Buffer.concat([entry('vmlinuz', kernel), entry('initrd', mark), entry('cmdline', 'x\n'), Buffer.alloc(1024)])
}

function entry(name: string, content: Buffer | string): Buffer {
  const body = Buffer.from(content as string)
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('        ', 148)
  header.write('0', 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}
