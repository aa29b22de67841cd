import { realpath } from 'node:fs/promises'
import { z } from 'zod'
import { readIfPresent, removeTree, writeDurable } from '../os/files.ts'
import type { Processes, ProcessIdentity } from '../os/process.ts'
import type { VmLayout } from '../records/layout.ts'

/** Where the process of one VM is noted, and the directory it runs in. */
export type VmmFiles = Pick<VmLayout, 'dir' | 'hypervisor' | 'pidfile'>

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

/**
 * Durable before a spawn: until its process is noted, one that runs in the VM's directory with this argument is taken
 * for it.
 */
export async function noteStart(vm: VmmFiles, processes: Processes, argument: string): Promise<void> {
  const identity = { pid: 0, startTime: '', bootId: processes.bootId() }
  await writeNote(vm, { identity, startedAt: new Date(0), acceleration: '', machine: '' }, argument)
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

/** The running hypervisor of this VM, whichever agent started it; never another process that has its pid now. */
export async function findProcess(
  vm: VmmFiles,
  processes: Processes,
  now: () => number,
  unnotedPid: () => Promise<number | undefined> = () => pidfilePid(vm.pidfile),
): Promise<VmmProcess | undefined> {
  const seen = await peekProcess(vm, processes, now, unnotedPid)
  if (seen && !seen.noted) await noteProcess(vm, seen.process)
  return seen?.process
}

/** As findProcess, for who only looks: writes nothing. `noted` = it is found again without its pidfile. */
export async function peekProcess(
  vm: VmmFiles,
  processes: Processes,
  now: () => number,
  unnotedPid: () => Promise<number | undefined> = () => pidfilePid(vm.pidfile),
): Promise<{ process: VmmProcess; noted: boolean } | undefined> {
  const noted = await readNote(vm)
  if (noted && processes.alive(noted.identity)) return { process: noted, noted: true }
  // An agent that died between the spawn and the note leaves what the process says its pid is, or where it runs.
  const dir = await realpath(vm.dir).catch(() => undefined)
  if (dir === undefined) return undefined
  const started = noted?.starting === undefined ? undefined : processes.pidsIn?.(dir, noted.starting)[0]
  const pid = (await unnotedPid()) ?? started ?? Number.NaN
  const identity = processes.identify(pid)
  if (!identity || processes.cwd(pid) !== dir) return undefined
  const startedAt = new Date(now() - processes.ageMs(identity))
  return { process: { identity, startedAt, acceleration: '', machine: noted?.machine ?? '' }, noted: false }
}

async function pidfilePid(path: string): Promise<number | undefined> {
  const bytes = await readIfPresent(path)
  return bytes === undefined ? undefined : Number(bytes.toString('utf8').trim())
}

async function readNote(vm: VmmFiles): Promise<(VmmProcess & { starting: string | undefined }) | undefined> {
  const bytes = await readIfPresent(vm.hypervisor)
  if (bytes === undefined) return undefined
  const note = NoteFile.safeParse(parseJson(bytes.toString('utf8')))
  if (!note.success) return undefined
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
