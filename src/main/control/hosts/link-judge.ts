import type { Fault } from '../../../ipc/faults.ts'
import type { LinkState } from '../sync/registry.ts'

/** What the end of a try or of a session means for the loop. */
export interface LinkVerdict {
  state: LinkState
  /** Nothing but a person (or the computer waking) helps: the loop waits to be told. */
  stops: boolean
}

/** Pure: the word for the screen, and whether trying again by itself makes sense. */
export function judgeLink(fault: Fault): LinkVerdict {
  switch (fault.code) {
    case 'ssh/auth-refused':
    case 'ssh/passphrase-wrong':
    case 'ssh/key-unreadable':
    case 'ssh/code-needed':
      return { state: 'sign_in_needed', stops: true }
    case 'host/revoked':
    case 'host/credential-ended':
      return { state: 'sign_in_needed', stops: true }
    case 'ssh/host-key-unknown':
    case 'ssh/host-certificate':
      return { state: 'key_not_trusted', stops: true }
    case 'ssh/host-key-changed':
    case 'ssh/host-key-revoked':
      return { state: 'key_changed', stops: true }
    case 'host/identity-mismatch':
      return { state: 'identity_mismatch', stops: true }
    case 'agent/foreign-controller':
      return { state: 'held_by_other', stops: true }
    case 'agent/auth-rejected':
      return { state: 'agent_missing', stops: true }
    case 'agent/superseded':
      return { state: 'held_by_other', stops: false }
    case 'agent/missing':
    case 'agent/not-running':
    case 'agent/version-skew':
      return { state: 'agent_missing', stops: false }
    default:
      return { state: 'unreachable', stops: false }
  }
}

/** Pure: waking may have loaded a key into the agent; it never brings a code, and never makes a strange host key right. */
export const wakeMayHelp = (asks: Fault | undefined): boolean =>
  asks === undefined || (judgeLink(asks).state === 'sign_in_needed' && asks.code !== 'ssh/code-needed')
