import { formatDay, formatDuration } from '../../lib/format.ts'
import type { StateView } from '../../ui/state-word.tsx'

const SOON_MS = 14 * 24 * 60 * 60 * 1000

/** The one state word of a host certificate. `ca` is what became of the CA that signed it; undefined = not known here. */
export function certificateState(
  validBeforeMs: number,
  nowMs: number,
  { revoked = false, ca }: { revoked?: boolean; ca?: string | undefined } = {},
): StateView {
  const until = `until ${formatDay(new Date(validBeforeMs))} ${new Date(validBeforeMs).getFullYear()}`
  if (revoked) return { word: 'Revoked', tone: 'bad', detail: 'Nobody who holds the newest list takes it' }
  const left = validBeforeMs - nowMs
  if (left <= 0) return { word: 'Expired', tone: 'bad', detail: `Was valid ${until}` }
  if (ca === 'retired') return { word: 'Being replaced', tone: 'warn', detail: 'The CA that signed it is retired' }
  if (left < SOON_MS) return { word: `Expires in ${formatDuration(left)}`, tone: 'warn', detail: `Valid ${until}` }
  return { word: 'Valid', tone: 'good', detail: until }
}

const REVOCATIONS: Record<string, StateView> = {
  current: { word: 'Holds the newest list', tone: 'good' },
  older: { word: 'Holds an older list', tone: 'warn' },
  unreachable: { word: 'Could not be given the newest list', tone: 'warn' },
  failed: { word: 'Refused the newest list', tone: 'bad' },
}

/** What the running guest holds of the revoked certificates. */
export function revocationsState(said: string | undefined): StateView {
  if (said === undefined) return { word: 'Not known', tone: 'unknown' }
  return REVOCATIONS[said] ?? { word: said === '' ? 'Not tried yet' : said, tone: 'unknown' }
}

/** Type, a short tail and the comment of an authorized-key line: enough to tell two apart. */
export function keyWords(line: string): string {
  const [type = '', key = '', ...comment] = line.trim().split(/\s+/)
  const kind = type.replace(/^(ssh-|ecdsa-sha2-)/, '').replace(/^sk-(ssh-)?/, 'hardware ')
  return [kind, key && `…${key.slice(-10)}`, comment.join(' ')].filter(Boolean).join(' ')
}

/** The same key, whatever its comment. */
export const isSameKey = (a: string, b: string): boolean => keyPart(a) === keyPart(b)
const keyPart = (line: string) => line.trim().split(/\s+/).slice(0, 2).join(' ')
