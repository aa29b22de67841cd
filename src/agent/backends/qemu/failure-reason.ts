import { printable } from '../../../ipc/fault-text.ts'

/** Lines QEMU prints that are no reason for anything. */
const NOISE = /(^|: )warning: |^info: |terminating on signal|^Use -|^\s*$/

/** What common complaints mean, in words of this house; the line itself always follows. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|Disk quota exceeded/i, 'the disk of the host is full'],
  [/Cannot allocate memory|cannot set up guest memory/i, 'the host has not enough free memory'],
  [/unsupported machine type/i, 'this QEMU does not know the machine type'],
  [/Failed to get .{0,20} lock/i, 'another process uses its disk'],
  [/Address already in use|Could not set up host forwarding rule/i, 'a port or socket it needs is in use'],
  [/Permission denied|Operation not permitted/i, 'the host does not permit it'],
  [/Could not open|No such file or directory/i, 'a file it needs cannot be opened'],
]
/** Characters kept of a line; QEMU repeats the whole option first, so its end says why. */
const LINE_LIMIT = 240

/** How the process ended; '' = by itself and without complaint. */
export const endWords = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal ? `QEMU was killed by ${signal}` : code ? `QEMU exited with code ${code}` : ''

/**
 * The last complaint in what QEMU printed: one that is understood before one that is not, without QEMU's own name and
 * without control characters. Empty = it printed none.
 */
export function failureReasonOf(log: string): string {
  const lines = log
    .split(/[\r\n]+/)
    .map((line) =>
      printable(line.replace(/^(\S*\/)?qemu(-[a-z0-9_-]+)?: /, '').slice(-LINE_LIMIT)).replace(/ {2,}/g, ' '),
    )
    .filter((line) => !NOISE.test(line))
    .map((line) => ({ line, means: MEANINGS.find(([pattern]) => pattern.test(line))?.[1] }))
  const found = lines.findLast(({ means }) => means !== undefined) ?? lines.at(-1)
  if (!found) return ''
  return found.means === undefined ? found.line : `${found.means}: ${found.line}`
}
