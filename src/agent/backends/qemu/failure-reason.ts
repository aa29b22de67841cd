import { printable } from '../../../ipc/fault-text.ts'

/** Lines QEMU prints that are no reason for anything. */
const NOISE = /: warning: |terminating on signal|^\s*$/

/** The last complaint in what QEMU printed, without its own name in front. Empty = it printed none. */
export function failureReasonOf(log: string): string {
  const lines = log.split('\n').filter((line) => !NOISE.test(line))
  return printable((lines.at(-1) ?? '').replace(/^\S*qemu-system-[a-z0-9_]+: /, ''))
}
