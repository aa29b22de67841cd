import { lookup } from '../../../ipc/base/lookup.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { QmpEvent } from './qmp-client.ts'

/** Why a QEMU process ended, as it said itself. */
export interface Ending {
  /** QEMU's own word. */
  reason: string
  words: string
}

const WORDS: Readonly<Record<string, string>> = {
  'guest-shutdown': 'the guest powered itself off',
  'guest-panic': 'the kernel of the guest panicked',
  'guest-reset': 'the guest reset itself',
  'host-signal': 'its process was told to end',
  'host-qmp-quit': 'it was ended over its monitor',
  'host-ui': 'it was ended over its monitor',
  'host-error': 'the hypervisor failed',
}

/** The ending a SHUTDOWN or GUEST_PANICKED event announces; undefined for any other event. */
export function endingOf({ event, data }: QmpEvent): Ending | undefined {
  if (event !== 'SHUTDOWN' && event !== 'GUEST_PANICKED') return undefined
  const reason = event === 'SHUTDOWN' ? String(data['reason'] ?? '') : 'guest-panic'
  return { reason, words: lookup(WORDS, reason) ?? printable(reason) }
}

/** The guest meant it: an operating system shut down in order. */
export const isClean = (ending: Ending | undefined): boolean => ending?.reason === 'guest-shutdown'
