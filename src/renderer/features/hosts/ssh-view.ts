import type { Host, PinnedHostKey, ShowSshResponse } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { formatDate } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'

/** How bytes reach the agent, in words. */
export function carrierWords({ carrier, sshClient, kind }: Pick<Host, 'carrier' | 'sshClient' | 'kind'>): string {
  if (carrier === '') return 'not connected'
  if (kind === 'local') return 'a unix socket of this computer'
  const client = sshClient === 'openssh' ? "this computer's own ssh" : 'the SSH client of this app'
  const way = carrier === 'stdio' ? 'through "eitri-agent rpc --stdio"' : "straight to the agent's socket"
  return `${client}, ${way}`
}

/** Rows of what ssh resolves; nothing that is not there. */
export function sshRows(ssh: ShowSshResponse): [string, string][] {
  const rows: [string, string][] = [
    ['Address', ssh.address],
    ['Port', String(ssh.port)],
    ['User', ssh.user],
    ['Through', ssh.proxyCommand || ssh.jump.join(' → ')],
    ['Keys', keysWords(ssh)],
    ['ssh-agent', ssh.identityAgent],
    ['Known hosts', ssh.knownHostsFiles.join(', ')],
    ['Key filed under', ssh.hostKeyName === ssh.address ? '' : ssh.hostKeyName],
    ['Carried by', clientWords(ssh)],
  ]
  return rows.filter(([, value]) => value !== '')
}

function keysWords({ identityFiles, identitiesOnly }: ShowSshResponse): string {
  if (identityFiles.length === 0) return 'as ssh tries them'
  return `${identityFiles.join(', ')}${identitiesOnly ? ' (only these)' : ''}`
}

function clientWords({ sshClient, sshClientDetail }: ShowSshResponse): string {
  if (sshClient === 'openssh') return `this computer's own ssh: ${sshClientDetail || 'your setup needs it'}`
  return sshClient === 'ssh2' ? 'the SSH client of this app' : ''
}

/** On whose word a pinned key is trusted, and since when. */
export function pinnedWords({ how, firstSeen }: PinnedHostKey): string {
  const at = msOf(firstSeen)
  const since = at === undefined ? '' : `, first seen ${formatDate(new Date(at))}`
  return `${how === 'accepted' ? 'accepted by you' : 'found in known_hosts'}${since}`
}

/** How its key is verified when none is pinned. */
export function verifiedWords(host: Host, keys: readonly PinnedHostKey[]): string {
  const current = keys.find(({ fingerprint }) => fingerprint === host.hostKeyFingerprint)
  if (current) return `${pinnedWords(current)}${host.link === 'key_changed' ? '' : ', unchanged'}`
  if (host.hostKeyFingerprint === '') return 'not known yet'
  return 'vouched for by a certificate authority of your known_hosts; the key itself may change'
}

/** How long it may be signed in to, in words. */
export function credentialWords(host: Host, nowMs: number): { text: string; tone: 'plain' | 'warn' | 'bad' } {
  if (host.credential === 'revoked') return { text: 'revoked: it is not let in again until it joins anew', tone: 'bad' }
  if (host.credential !== 'key') return { text: 'your SSH login; this app adds none of its own', tone: 'plain' }
  const ends = msOf(host.credentialEndsAt)
  if (ends === undefined) return { text: "this app's own key, without an end", tone: 'plain' }
  const days = Math.floor((ends - nowMs) / 86_400_000)
  if (ends <= nowMs) return { text: `this app's own key, ended ${formatDate(new Date(ends))}`, tone: 'bad' }
  const text = `this app's own key, until ${formatDate(new Date(ends))} (${days === 0 ? 'today' : `${days} d`})`
  return { text, tone: days < 14 ? 'warn' : 'plain' }
}

/** Where secrets of its sign-in are, in words. */
export const secretsWords = ({ secretsKept }: Host): string =>
  secretsKept === 'keychain'
    ? "in this computer's keychain"
    : secretsKept === 'memory'
      ? 'in memory, until Eitri quits'
      : 'none are kept'
