import { printable } from '../../../ipc/fault-text.ts'

/** What vfkit says while all is well, and its web framework's line per request. */
const NOISE =
  /^\s*$|level=(info|debug|warning)|^(INFO|DEBU|WARN)\[|^\[GIN|^\d{4}\/\d\d\/\d\d .*captured |^Usage:|^Flags:|^\s+-/

/** The last complaint in what vfkit printed, without its logger's dress. Empty = it printed none. */
export function failureReasonOf(log: string): string {
  const lines = log.split('\n').filter((line) => !NOISE.test(line))
  const last = (lines.at(-1) ?? '').trim()
  const [, quoted] = /level=(?:error|fatal) msg="((?:[^"\\]|\\.)*)"/.exec(last) ?? []
  const plain = quoted?.replaceAll('\\"', '"') ?? last.replace(/^(ERRO|FATA)\[\d+\]\s*/, '').replace(/^Error: /, '')
  return printable(plain.slice(0, 300))
}
