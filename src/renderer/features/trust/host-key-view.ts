import { lookup } from '../../../ipc/base/lookup.ts'
import type { Host, PinnedHostKey } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { StateView } from '../../ui/state-word.tsx'

/** The one state word of a host's key; what needs a person ranks first. */
export function hostKeyState({ kind, link, hostKeyFingerprint, name }: Host): StateView & { rank: number } {
  if (kind !== 'ssh') return { word: 'Not needed', tone: 'quiet', rank: 4 }
  if (link === 'key_changed')
    return {
      word: 'Changed',
      tone: 'bad',
      icon: 'key',
      rank: 0,
      detail: `${name} answered with another key; we do not sign in`,
    }
  if (link === 'key_not_trusted')
    return {
      word: 'Not trusted',
      tone: 'warn',
      icon: 'key',
      rank: 1,
      detail: `Compare it on ${name} itself, then trust it`,
    }
  if (hostKeyFingerprint === '')
    return { word: 'Vouched for', tone: 'quiet', rank: 3, detail: 'known_hosts or an authority there vouches for it' }
  return { word: 'Pinned', tone: 'good', icon: 'key', rank: 2, detail: 'Compared at every connection' }
}

const HOW: Record<string, string> = { accepted: 'by a person, here', 'known-hosts': 'by your known_hosts' }

/** How the key in use was verified. */
export function verifiedWords({ hostKeyFingerprint }: Host, keys: readonly PinnedHostKey[]): string {
  const pinned = keys.find(({ fingerprint }) => fingerprint === hostKeyFingerprint) ?? keys[0]
  if (!pinned) return 'by known_hosts, or an authority there'
  return lookup(HOW, pinned.how) ?? pinned.how
}
