import { printable } from '../../../../ipc/fault-text.ts'
import { Fault } from '../../../../ipc/faults.ts'
import type { SignIn } from './auth-walk.ts'
import type { SshTarget } from './config.ts'

/** What a server was heard to say outside of its answers; bounded. */
export interface Heard {
  /** Before its version line: sshd says there why it takes nobody. */
  greeting: string
  /** Shown before the sign-in. pam_nologin says there why not. */
  banner: string
  version: boolean
  /** The keys of the connection are agreed on, its host key is judged. */
  handshake: boolean
}

const BY_TOO_MANY = 2
/** What ssh2 makes of a server that closes before the keys are agreed on. */
const ENDED_EARLY = /^Connection lost before handshake/
/** What sshd writes instead of its version line. */
const SSHD_SAYS_NO = /MaxStartups|Not allowed at this time/i
const DETAIL_CHARS = 200

/** The login as people write it, for faults. */
export const addressOf = (target: SshTarget): string => `${target.user}@${target.address}:${target.port}`

export const protocolFault = (target: Pick<SshTarget, 'host'>, detail: string, cause?: unknown) =>
  new Fault('ssh/protocol', 'transient', { host: target.host, detail: detail.slice(0, DETAIL_CHARS) }, { cause })

export const lostFault = (target: Pick<SshTarget, 'host'>, detail = '', cause?: unknown) =>
  new Fault(
    'ssh/lost',
    'transient',
    { host: target.host, ...(detail ? { detail: detail.slice(0, DETAIL_CHARS) } : {}) },
    { cause },
  )

export const authRefused = (target: SshTarget, signIn: SignIn, detail = '', cause?: unknown) =>
  new Fault(
    'ssh/auth-refused',
    'permanent',
    {
      host: target.host,
      address: addressOf(target),
      methods: signIn.tried.join(', '),
      offered: signIn.offered.join(', '),
      ...(detail ? { detail } : {}),
    },
    { cause },
  )

/** Between tries that a server turns away unseen; it counts every one. */
export const NOT_NOW_RETRY_MS = 3_000

export const notNow = (target: SshTarget, detail: string, cause?: unknown) =>
  new Fault(
    'ssh/not-now',
    'transient',
    { host: target.host, address: addressOf(target), detail: detail.slice(0, DETAIL_CHARS) },
    { cause, retryAfterMs: NOT_NOW_RETRY_MS },
  )

/** Why a connection ended before it was signed in, when nothing else said so. */
export function endedEarly(target: SshTarget, signIn: SignIn, heard: Heard): Fault {
  const said = lastWords(heard)
  if (!heard.version) return notNow(target, said ? turnedAway(said) : 'it closed the connection before it said a word')
  if (!heard.handshake) return notNow(target, said || 'it closed the connection during the handshake')
  // Its no is an answer; hanging up instead of one (nologin, a restart, LoginGraceTime) is none.
  if (!signIn.pending && signIn.tried.length > 0) return authRefused(target, signIn)
  return notNow(target, said || 'it closed the connection during the sign-in')
}

/** What ssh2 found wrong, in our words. */
export function translate(
  error: Error & { level?: string; code?: unknown },
  target: SshTarget,
  signIn: SignIn,
  heard: Heard,
): Fault {
  if (error.level === 'client-authentication') return authRefused(target, signIn, '', error)
  if (error.code === BY_TOO_MANY && /too many authentication/i.test(error.message)) {
    signIn.refusedNow()
    return authRefused(target, signIn, 'it allows no further try (MaxAuthTries)', error)
  }
  if (/no matching/i.test(error.message)) {
    const need = `other algorithms (${error.message.slice(0, 150)})`
    return new Fault('ssh/unsupported', 'permanent', { host: target.host, need }, { cause: error })
  }
  if (error.level === 'client-socket') return endedEarly(target, signIn, heard)
  // Text that is no sshd's: something else listens there.
  const stranger = !heard.version && heard.greeting !== '' && !SSHD_SAYS_NO.test(heard.greeting)
  if (ENDED_EARLY.test(error.message) && !stranger) return endedEarly(target, signIn, heard)
  return protocolFault(target, printable(error.message), error)
}

const lastWords = ({ greeting, banner }: Heard): string => printable(banner || greeting).slice(0, DETAIL_CHARS)

/** sshd's own line for a full house, and what to look at. */
const turnedAway = (said: string): string =>
  /MaxStartups/i.test(said) ? 'too many sign-ins are under way there (MaxStartups)' : said
