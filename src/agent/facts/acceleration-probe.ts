import { constants } from 'node:fs'
import { access, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { printable } from '../../ipc/fault-text.ts'
import type { Run } from '../os/exec.ts'
import { ensureDir, readIfPresent, removeTree, writeDurable } from '../os/files.ts'
import { linuxProcesses } from '../os/process.ts'

/** Which acceleration really ran a guest; empty = none did. `detail` is one sentence, empty when there is nothing to say. */
export interface Acceleration {
  kind: 'kvm' | 'tcg' | 'vz' | ''
  detail: string
}

export interface ProbeSources {
  run: Run
  /** Absolute path or name of the QEMU of this machine's architecture. */
  qemu: string
  arch: NodeJS.Architecture
  /** Made for the probe and removed after it, with what an agent that was killed left in it. */
  dir: string
  kvmDevice?: string
  signal?: AbortSignal
}

/** A KVM that needs longer than this for one boot sector is slower than none. */
const KVM_DEADLINE_MS = 2_000
const TCG_DEADLINE_MS = 20_000
/** Relative to the probe's directory, where QEMU runs. */
const PIDFILE = 'qemu.pid'
const EXIT_PORT = 0xf4
const EXIT_VALUE = 0x10
/** isa-debug-exit turns a written value v into the exit code 2v+1. */
const GUEST_RAN = EXIT_VALUE * 2 + 1

/** mov al,10h; out F4h,al; hlt; jmp hlt: a whole guest in one sector. */
export function probeSector(): Uint8Array {
  const sector = new Uint8Array(512)
  sector.set([0xb0, EXIT_VALUE, 0xe6, EXIT_PORT, 0xf4, 0xeb, 0xfd])
  sector.set([0x55, 0xaa], 510)
  return sector
}

/** Runs the sector under KVM and, when that fails, under TCG. Never raises; a host without QEMU gives an empty kind. */
export async function probeAcceleration(sources: ProbeSources): Promise<Acceleration> {
  if (sources.arch !== 'x64') return { kind: 'tcg', detail: 'KVM is not probed on this architecture.' }
  const { dir } = sources
  try {
    await endLeftBehind(dir)
    await ensureDir('probe.dir', dir)
    const image = join(dir, 'sector.img')
    await writeDurable('probe.image', image, probeSector())
    const kvm = await kvmProblem(sources, image)
    if (kvm === '') return { kind: 'kvm', detail: '' }
    const tcg = await guestProblem(sources, image, 'tcg,tb-size=32', TCG_DEADLINE_MS)
    return tcg === '' ? { kind: 'tcg', detail: kvm } : { kind: '', detail: tcg }
  } finally {
    await removeTree('probe.clear', dir)
  }
}

/** A guest that hangs in a broken KVM outlives the agent that would have ended it. */
async function endLeftBehind(dir: string, processes = linuxProcesses()): Promise<void> {
  const pid = Number((await readIfPresent(join(dir, PIDFILE)))?.toString('utf8').trim() ?? Number.NaN)
  const identity = processes.identify(pid)
  if (identity && processes.cwd(pid) === (await realpath(dir))) processes.signal('probe.kill', identity, 'SIGKILL')
}

async function kvmProblem(sources: ProbeSources, image: string): Promise<string> {
  const device = sources.kvmDevice ?? '/dev/kvm'
  try {
    await access(device, constants.R_OK | constants.W_OK)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
      ? `There is no ${device}: the CPU, the firmware or an outer hypervisor does not offer KVM.`
      : `${device} may not be opened by this user; adding it to the group kvm lets VMs run faster.`
  }
  return await guestProblem(sources, image, 'kvm', KVM_DEADLINE_MS)
}

async function guestProblem(sources: ProbeSources, image: string, accel: string, timeoutMs: number): Promise<string> {
  const name = accel === 'kvm' ? 'KVM' : 'QEMU without KVM'
  const { run, qemu, signal, dir } = sources
  const options = { timeoutMs, cwd: dir, ...(signal ? { signal } : {}) }
  try {
    const result = await run('probe.run', qemu, probeArgv(image, accel), options)
    if (result.code === GUEST_RAN) return ''
    if (result.timedOut) return `${name} did not run a one-sector guest within ${timeoutMs / 1000} s.`
    const last = printable(result.stderr.trim().split('\n').at(-1) ?? '')
    return `${name} did not run a guest: ${last === '' ? `exit code ${result.code}` : last}.`
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return absent ? `${qemu} is not installed.` : `${qemu} could not be started: ${printable(String(error))}.`
  }
}

export const probeArgv = (image: string, accel: string): string[] => [
  ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none'],
  ...['-machine', 'pc', '-accel', accel, '-m', '16', '-pidfile', PIDFILE],
  ...['-drive', `file=${image.replaceAll(',', ',,')},format=raw,if=ide,readonly=off`],
  ...['-device', `isa-debug-exit,iobase=0x${EXIT_PORT.toString(16)},iosize=0x04`],
]
