import { clockPolicyOf } from '../../ipc/clock-policy.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { isName } from '../../ipc/names.ts'
import type { CloneRequest } from '../backends/backend.ts'
import type { BootImage } from '../images/image-cache.ts'
import { macOf } from '../network/mac.ts'
import { namedIfFull, VM_FILES_BYTES } from '../os/disk-space.ts'
import type { VmLayout } from '../records/layout.ts'
import { sizeOf, type VmRecord } from '../records/vm-record.ts'
import { cloneSource } from './clone-source.ts'
import { booted, bootTime, networked, type PassDeps, runningPart, withAddresses } from './pass-deps.ts'
import { haveImage, type ImageBytes, isAwaited, WAITING_FOR_IMAGE } from './vm-image.ts'
import { isKnownPower } from './vm-plan.ts'
import { isPermanent, type ProgressPart, rowResult, sentence, type VmResult } from './vm-result.ts'
import type { Pass } from './vm-worker.ts'

/** A create that failed this often waits for a person to change the VM. */
export const MAX_CREATE_ATTEMPTS = 3

/** The steps people see, in order. */
export const CREATE_STEPS = [
  'waiting for a create slot on this host',
  'downloading image',
  'preparing root disk',
  'building seed',
  'booting',
] as const
type Step = (typeof CREATE_STEPS)[number]

export const WAITING_FOR_CERTIFICATE = 'awaiting host certificate'

/**
 * One try at making the VM whole. `record` already holds the spec; waits and refusals spend no attempt, a pass that
 * ran out of time gets its attempt back, a permanent fault spends all of them.
 */
export async function createVm(
  deps: PassDeps,
  record: VmRecord,
  running: boolean,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  const { spec } = record
  const vm = deps.layout.vmDir(spec.vmId)
  // A try that died after its boot left a guest on a disk that nothing proves.
  if (running) await deps.backend.destroy(vm)
  if (record.createAttempts >= MAX_CREATE_ATTEMPTS) return spent(deps, record)
  let current = record
  if (spec.hostCertRequired) {
    current = await withHostKey(deps, vm, record)
    if (spec.sshHostCert === '') return waiting(current, WAITING_FOR_CERTIFICATE)
  }
  const full = deps.ledger.admit(spec)
  if (full !== '') return refused(current, full)
  const counted = { ...current, createAttempts: current.createAttempts + 1, admitted: sizeOf(spec) }
  try {
    checkSpec(deps, spec)
    await deps.backend.preflight(pass.signal)
    if (isAwaited(deps, spec)) return waitForImage(deps, current)
    const source = spec.cloneOf === '' ? undefined : await cloneSource(deps, spec)
    if (source && 'waits' in source) return waiting(current, source.waits)
    await deps.records.save(counted)
    return await build(deps, { vm, source }, counted, pass)
  } catch (error) {
    return await failCreate(deps, counted, error, pass.signal)
  }
}

/** From the slot to the proof. The slot is held until the guest runs: it uses the disk at once. */
async function build(
  deps: PassDeps,
  { vm, source }: { vm: VmLayout; source: CloneRequest['source'] | undefined },
  counted: VmRecord,
  pass: Pass<VmResult>,
): Promise<VmResult> {
  const { spec } = counted
  const record = { ...counted, diskGb: spec.diskGb }
  const say = (step: Step, detail: string = step, bytes?: ImageBytes) =>
    pass.publish(rowResult(record, { power: 'stopped', phase: 'creating', detail, progress: progressOf(step, bytes) }))
  say('waiting for a create slot on this host')
  const release = await deps.slots.take(pass.signal)
  try {
    say('downloading image')
    await haveImage(deps, spec, (detail, bytes) => say('downloading image', detail, bytes), pass.signal)
    const image = await deps.images.bootImage(spec.imageSha256, spec.imageKind, spec.imageFormat)
    say('preparing root disk')
    await deps.images.requireRoom(VM_FILES_BYTES)
    if (source)
      await cloneRootDisk(deps, { vm, spec, image, source }, pass, (detail, bytes) =>
        say('preparing root disk', detail, bytes),
      )
    else await deps.backend.prepareRootDisk(vm, spec, image, pass.signal)
    say('building seed')
    await deps.seeds.write(vm.seed, await seedInput(deps, vm, spec))
    pass.signal.throwIfAborted()
    return spec.powerState === 'stopped'
      ? await finishStopped(deps, record)
      : await finishRunning(deps, vm, record, image, pass, () => say('booting'))
  } finally {
    release()
  }
}

/** However long it takes, as long as bytes come. */
async function cloneRootDisk(
  { backend, images }: PassDeps,
  request: Pick<CloneRequest, 'vm' | 'spec' | 'image' | 'source'>,
  pass: Pass<VmResult>,
  say: (detail: string, bytes: ImageBytes) => void,
): Promise<void> {
  let copied = 0
  const progress = (doneBytes: number, totalBytes: number) => {
    if (doneBytes > copied) pass.goesOn()
    copied = Math.max(copied, doneBytes)
    say(`copying the disk of ${request.source.name}`, { doneBytes, totalBytes })
  }
  const requireRoom = (bytes: number) => images.requireRoom(bytes)
  await backend.cloneRootDisk!({ ...request, progress, requireRoom }, pass.signal)
}

async function finishRunning(
  deps: PassDeps,
  vm: VmLayout,
  record: VmRecord,
  image: BootImage,
  pass: Pass<VmResult>,
  say: () => void,
): Promise<VmResult> {
  say()
  const { spec, machine } = record
  const nics = await deps.network.attach(networked(spec), pass.signal)
  const running = await deps.backend.boot({ vm, spec, image, machine, nics }, pass.signal)
  try {
    const whole = await withAddresses(deps, vm, booted(record, running.machine, bootTime(deps)))
    await deps.records.save(whole)
    return rowResult(whole, { power: 'running', phase: 'ready', running: runningPart(running) })
  } catch (error) {
    // Without its proof it is no VM: the next try replaces its disk.
    await deps.backend.destroy(vm)
    throw error
  }
}

async function finishStopped(deps: PassDeps, record: VmRecord): Promise<VmResult> {
  const whole = { ...booted(record, record.machine, bootTime(deps)), stopRequested: true, started: undefined }
  await deps.records.save(whole)
  return rowResult(whole, { power: 'stopped', phase: 'ready' })
}

async function seedInput(deps: PassDeps, vm: VmLayout, spec: VmSpec) {
  const { privateKey } = spec.hostCertRequired ? await deps.seeds.hostKey(vm.hostKey, spec.name) : { privateKey: '' }
  return {
    vmId: spec.vmId,
    hostname: spec.name,
    authorizedKeys: spec.sshAuthorizedKeys,
    userData: spec.cloudInit,
    mac: macOf(spec.vmId),
    ...(spec.network === '' ? {} : { networkMac: macOf(spec.vmId, 1) }),
    clock: clockPolicyOf(spec.clockPolicy),
    ssh: {
      userCas: spec.sshUserCaAuthorizedKeys,
      revoked: deps.revoked(),
      ...(privateKey === '' ? {} : { hostKey: { privateKey, certificate: spec.sshHostCert } }),
    },
  }
}

/** What no other try could change, told before anything is fetched. */
function checkSpec({ backend, network }: PassDeps, spec: VmSpec): void {
  if (!isName(spec.name))
    throw new Fault('input/invalid', 'permanent', {
      field: 'name',
      value: shown(spec.name),
      problem: 'not a host name',
    })
  if (!isKnownPower(spec.powerState))
    throw new Fault('input/invalid', 'permanent', {
      field: 'power_state',
      value: shown(spec.powerState),
      problem: 'this agent does not know it',
    })
  network.look(networked(spec))
  if (spec.backend !== '' && spec.backend !== backend.name)
    throw new Fault('vmm/missing', 'permanent', { host: 'This host', backend: shown(spec.backend), has: backend.name })
}

/** Enough of a value that is refused to know it again. */
const shown = (value: string): string => value.slice(0, 80)

async function withHostKey(deps: PassDeps, vm: VmLayout, record: VmRecord): Promise<VmRecord> {
  if (record.hostPublicKey === '') await deps.records.save(record)
  const { publicKey } = await deps.seeds.hostKey(vm.hostKey, record.spec.name)
  if (publicKey === record.hostPublicKey) return record
  const keyed = { ...record, hostPublicKey: publicKey }
  await deps.records.save(keyed)
  return keyed
}

/** No try is left. Tries that the end of the agent cut short have left no error behind. */
function spent({ layout }: PassDeps, record: VmRecord): VmResult {
  const { lastError, lastReason, spec } = record
  const cutShort = new Fault('vm/create-cut-short', 'permanent', { log: layout.log })
  return rowResult(record, {
    power: 'stopped',
    phase: 'failed',
    detail: lastError || sentence(cutShort, spec.name),
    reason: lastReason || cutShort.code,
  })
}

const waiting = (record: VmRecord, detail: string): VmResult =>
  rowResult(record, { power: 'stopped', phase: 'creating', detail })

function waitForImage(deps: PassDeps, record: VmRecord): VmResult {
  const { imageSha256 } = record.spec
  const bytes = { doneBytes: deps.images.stat(imageSha256).haveBytes, totalBytes: undefined }
  const progress = progressOf('downloading image', bytes)
  return rowResult(record, { power: 'stopped', phase: 'creating', detail: WAITING_FOR_IMAGE, progress }, imageSha256)
}

function refused(record: VmRecord, detail: string): VmResult {
  const fault = new Fault('vm/over-capacity', 'transient', { detail })
  return rowResult(record, {
    power: 'stopped',
    phase: 'failed',
    detail: sentence(fault, record.spec.name),
    reason: fault.code,
  })
}

async function failCreate(deps: PassDeps, record: VmRecord, why: unknown, signal: AbortSignal): Promise<VmResult> {
  const error = await namedIfFull(why, deps.layout.stateDir, VM_FILES_BYTES)
  // Under an aborted pass the failure says nothing about the VM. This beats permanence, which will show again.
  const fault = signal.aborted ? asFault(signal.reason) : asFault(error)
  // A full disk is a wait: room comes when others make it.
  const isWait = signal.aborted || fault.code === 'host/disk-full'
  const createAttempts = isWait
    ? record.createAttempts - 1
    : isPermanent(error)
      ? MAX_CREATE_ATTEMPTS
      : record.createAttempts
  deps.log.warn('vm.create-failed', { vm: record.spec.vmId, attempts: createAttempts, error: messageOf(error) })
  const lastError = fault.disposition === 'cancelled' ? '' : sentence(fault, record.spec.name)
  const isSpent = createAttempts >= MAX_CREATE_ATTEMPTS
  // Its words promise another try, which there is not.
  const code = isSpent && fault.code === 'vm/start-failed' ? 'vm/create-failed' : fault.code
  const failed = { ...record, createAttempts, lastError, lastReason: lastError === '' ? '' : code }
  await deps.records.save(failed)
  return rowResult(failed, {
    power: 'stopped',
    phase: isSpent ? 'failed' : 'creating',
    detail: failed.lastError,
    reason: failed.lastReason,
  })
}

function progressOf(step: Step, bytes?: ImageBytes): ProgressPart {
  return {
    step: CREATE_STEPS.indexOf(step) + 1,
    steps: CREATE_STEPS.length,
    doneBytes: bytes?.doneBytes ?? 0,
    totalBytes: bytes?.totalBytes,
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 500)
