import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { readIfPresent, removeTree, writeDurable } from '../os/files.ts'
import type { Processes, ProcessIdentity } from '../os/process.ts'
import type { VmLayout } from '../records/layout.ts'

/** Where the process of one VM is noted, and by what it is known: the directory it runs in and an argument. */
export type VmmFiles = Pick<VmLayout, 'dir' | 'hypervisor' | 'pidfile' | 'argument'>

/** A look through all processes stands this long, ms, for VMs that nothing says run: a thousand of them cost one. */
const SCAN_VALID_MS = 1_000

const NoteFile = z.object({
  pid: z.number().int(),
  start_time: z.string(),
  boot_id: z.string(),
  started_at: z.iso.datetime(),
  acceleration: z.string(),
  machine: z.string(),
  /** With pid 0: an argument by which the process that is being started is known. */
  starting: z.string().optional(),
})

/** The hypervisor process of one VM as noted right after its spawn. */
export interface VmmProcess {
  identity: ProcessIdentity
  startedAt: Date
  acceleration: string
  machine: string
}

/** Durable before a spawn: until its process is noted, one that is the VM's by directory and argument is looked for. */
export async function noteStart(vm: VmmFiles, processes: Processes): Promise<void> {
  const identity = { pid: 0, startTime: '', bootId: processes.bootId() }
  await writeNote(vm, { identity, startedAt: new Date(0), acceleration: '', machine: '' }, vm.argument)
}

/** Durable before it resolves: from then on the process is found again by this alone. */
export async function noteProcess(vm: VmmFiles, process: VmmProcess): Promise<void> {
  await writeNote(vm, process)
}

async function writeNote(vm: VmmFiles, process: VmmProcess, starting?: string): Promise<void> {
  const { pid, startTime, bootId } = process.identity
  const note: z.infer<typeof NoteFile> = {
    pid,
    start_time: startTime,
    boot_id: bootId,
    started_at: process.startedAt.toISOString(),
    acceleration: process.acceleration,
    machine: process.machine,
    ...(starting === undefined ? {} : { starting }),
  }
  await writeDurable('vmm.note', vm.hypervisor, `${JSON.stringify(note)}\n`)
}

/** Only after the process is gone, else nobody finds it again; idempotent. */
export async function forgetProcess(vm: VmmFiles): Promise<void> {
  await removeTree('vmm.forget-note', vm.hypervisor)
  await removeTree('vmm.forget-pidfile', vm.pidfile)
}

/** The running hypervisor of this VM, whichever agent started it; never another process, whatever the files say. */
export async function findProcess(
  vm: VmmFiles,
  processes: Processes,
  now: () => number,
  unnotedPid: () => Promise<number | undefined> = () => pidfilePid(vm.pidfile),
): Promise<VmmProcess | undefined> {
  const seen = await peekProcess(vm, processes, now, unnotedPid)
  // Where it cannot be noted, with its directory gone or the disk full, the next look searches again.
  if (seen && !seen.noted) await noteProcess(vm, seen.process).catch(unlessOfFiles)
  return seen?.process
}

function unlessOfFiles(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === undefined) throw error
}

/** As findProcess, for who only looks: writes nothing. `noted` = it is found again without its pidfile. */
export async function peekProcess(
  vm: VmmFiles,
  processes: Processes,
  now: () => number,
  unnotedPid: () => Promise<number | undefined> = () => pidfilePid(vm.pidfile),
): Promise<{ process: VmmProcess; noted: boolean } | undefined> {
  const note = await readNote(vm)
  const noted = note === 'damaged' ? undefined : note
  const isAlive = noted !== undefined && processes.alive(noted.identity)
  const dir = await realDir(vm.dir)
  if (isAlive && isOf(vm, dir, processes, noted.identity.pid)) return { process: noted, noted: true }
  // Only what forgetProcess leaves, or a process that ended, may be judged by an older look.
  const isPlain = note === undefined || (noted !== undefined && noted.starting === undefined && !isAlive)
  const pid = (await unnoted(vm, dir, processes, unnotedPid)) ?? searched(vm, dir, processes, isPlain)
  const identity = processes.identify(pid ?? Number.NaN)
  if (!identity) return undefined
  const startedAt = new Date(now() - processes.ageMs(identity))
  return { process: { identity, startedAt, acceleration: '', machine: noted?.machine ?? '' }, noted: false }
}

async function unnoted(
  vm: VmmFiles,
  dir: string,
  processes: Processes,
  unnotedPid: () => Promise<number | undefined>,
): Promise<number | undefined> {
  const pid = await unnotedPid().catch(() => undefined)
  return pid !== undefined && processes.identify(pid) && isOf(vm, dir, processes, pid) ? pid : undefined
}

const searched = (vm: VmmFiles, dir: string, processes: Processes, isPlain: boolean): number | undefined =>
  [dir, removed(dir)]
    .flatMap((place) => processes.pidsIn?.(place, vm.argument, isPlain ? SCAN_VALID_MS : 0) ?? [])
    .at(0)

/** What cannot be read, as of a process that is ending, speaks against nothing. */
function isOf(vm: VmmFiles, dir: string, processes: Processes, pid: number): boolean {
  if (processes.hasArgument(pid, vm.argument) === false) return false
  const cwd = processes.cwd(pid)
  return cwd === undefined || cwd === dir || cwd === removed(dir) || vm.argument.includes(basename(vm.dir))
}

/** How Linux tells of a working directory that was removed. */
const removed = (dir: string): string => `${dir} (deleted)`

/** As the kernel names it, even when it is gone. */
async function realDir(dir: string): Promise<string> {
  const parent = async () => join(await realpath(dirname(dir)).catch(() => dirname(dir)), basename(dir))
  return await realpath(dir).catch(parent)
}

async function pidfilePid(path: string): Promise<number | undefined> {
  const bytes = await readIfPresent(path)
  return bytes === undefined ? undefined : Number(bytes.toString('utf8').trim())
}

async function readNote(
  vm: VmmFiles,
): Promise<(VmmProcess & { starting: string | undefined }) | 'damaged' | undefined> {
  const bytes = await readIfPresent(vm.hypervisor).catch(() => Buffer.alloc(0))
  if (bytes === undefined) return undefined
  const note = NoteFile.safeParse(parseJson(bytes.toString('utf8')))
  if (!note.success) return 'damaged'
  const { pid, start_time, boot_id, started_at, acceleration, machine, starting } = note.data
  return {
    identity: { pid, startTime: start_time, bootId: boot_id },
    startedAt: new Date(started_at),
    acceleration,
    machine,
    starting,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
