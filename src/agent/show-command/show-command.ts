import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { faultLine } from '../../ipc/fault-text.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import { isId } from '../../ipc/names.ts'
import type { Backend } from '../backends/backend.ts'
import { peekProcess } from '../backends/vmm-process.ts'
import type { BootImage } from '../images/image-cache.ts'
import type { NetworkedVm, Nic } from '../network/vm-network.ts'
import { isAbsent, readIfPresent } from '../os/files.ts'
import type { Processes } from '../os/process.ts'
import type { AgentLayout, VmLayout } from '../records/layout.ts'
import type { VmRecord } from '../records/vm-record.ts'
import type { VmRecords } from '../records/vm-records.ts'
import { compareCommands, type ShownPart } from './compare-commands.ts'

export interface ShowDeps {
  layout: AgentLayout
  records: Pick<VmRecords, 'list' | 'read'>
  processes: Processes
  /** The backend of a VM whose spec names this one; '' = the platform's own. */
  backendOf(name: string): Backend
  /** What a start would give the VM. */
  nicsOf(vm: NetworkedVm): Promise<Nic[]>
  now(): number
  /** Arguments of a process; undefined when they cannot be read. */
  argvOf(pid: number): Promise<string[] | undefined>
}

export interface ShownCommand {
  vmId: string
  name: string
  backend: string
  /** Directory the hypervisor works in. */
  cwd: string
  /** Undefined = it does not run. */
  pid: number | undefined
  /** What runs is among the parts; false for a process whose arguments cannot be read here. */
  runsKnown: boolean
  parts: ShownPart[]
  /** Why nobody can say what the next start would use; '' = it is known. */
  nextUnknown: string
}

/**
 * The command line of one VM, read from what is on disk: no agent need run, and nothing is changed. Raises
 * `vm/not-found`, `vm/ambiguous`, `vm/record-unreadable`, and for a stopped VM what its start would raise.
 */
export async function showCommand(deps: ShowDeps, ref: string, signal: AbortSignal): Promise<ShownCommand> {
  const record = await findRecord(deps, ref)
  const { spec } = record
  const vm = deps.layout.vmDir(spec.vmId)
  const backend = deps.backendOf(spec.backend)
  const pid = (await peekProcess(backend.files?.(vm) ?? vm, deps.processes, deps.now))?.process.identity.pid
  const running = pid === undefined ? undefined : await deps.argvOf(pid)
  const shown = {
    vmId: spec.vmId,
    name: spec.name,
    backend: backend.name,
    cwd: vm.dir,
    pid,
    runsKnown: running !== undefined,
    nextUnknown: '',
  }
  try {
    const next = await nextCommand(deps, backend, vm, record, signal)
    const parts = running ? compareCommands(running, next) : next.map((part) => ({ ...part, where: 'next' as const }))
    return { ...shown, parts }
  } catch (error) {
    if (!running) throw error
    const fault = asFault(error)
    const parts = running.map((arg) => ({ args: [arg], why: '', where: 'running' as const }))
    return { ...shown, parts, nextUnknown: faultLine(fault.code, { vm: spec.name, ...fault.params }) }
  }
}

async function nextCommand(deps: ShowDeps, backend: Backend, vm: VmLayout, record: VmRecord, signal: AbortSignal) {
  const { spec, machine } = record
  if (!backend.command)
    throw new Fault('app/part-missing', 'permanent', { part: `The command line of ${backend.name}`, next: ' ' })
  const image = await peekImage(deps.layout.images, spec.imageSha256, spec.imageKind)
  const nics = await deps.nicsOf(spec)
  return await backend.command({ vm, spec, image, machine, nics }, signal)
}

/** By id, or by name among those not in quarantine, else among those that are. */
async function findRecord({ layout, records }: ShowDeps, ref: string): Promise<VmRecord> {
  const ids = isId(ref)
    ? [ref]
    : await records.list().catch((cause: Error) => {
        const params = { field: '--state-dir', value: layout.stateDir, problem: cause.message }
        throw new Fault('input/invalid', 'permanent', params, { cause })
      })
  const found: VmRecord[] = []
  let unread = ''
  for (const id of ids) {
    const read = await records.read(id)
    if (read.kind === 'unreadable') unread = id
    else if (read.kind === 'record' && (id === ref || read.record.spec.name === ref)) found.push(read.record)
  }
  const live = found.filter(({ quarantine }) => !quarantine)
  const [one, ...others] = live.length > 0 ? live : found
  if (one && others.length === 0) return one
  if (one)
    throw new Fault('vm/ambiguous', 'permanent', {
      vm: ref,
      ids: [one, ...others].map(({ spec }) => spec.vmId).join(', '),
    })
  if (unread !== '') throw new Fault('vm/record-unreadable', 'permanent', { vm: ref, file: unread })
  throw new Fault('vm/not-found', 'permanent', { vm: ref })
}

/** What a VM boots from, as it lies in the cache: looked at, never unpacked or claimed. */
async function peekImage(dir: string, sha256: string, kind: string): Promise<BootImage> {
  if (kind !== 'kernel') return { kind: 'disk', file: join(dir, sha256), format: 'raw', virtualBytes: 0 }
  const unpacked = join(dir, `${sha256}.kernel`)
  const cmdline = await readIfPresent(join(unpacked, 'cmdline'))
  if (!cmdline) throw new Fault('image/not-found', 'permanent', { image: `image ${sha256.slice(0, 12)}` })
  const text = cmdline.toString('utf8').trim()
  return { kind: 'kernel', kernel: join(unpacked, 'kernel'), initrd: join(unpacked, 'initrd'), cmdline: text }
}

/** Of /proc, whose arguments end in NUL each. */
export async function procArgv(pid: number): Promise<string[] | undefined> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}
