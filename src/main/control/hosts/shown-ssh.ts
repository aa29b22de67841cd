import { access } from 'node:fs/promises'
import type { HostKeyRow } from '../store/host-keys-store.ts'
import type { HostHop, HostRow, HostSsh } from '../store/host-row.ts'
import type { SshWay } from './enrol.ts'
import { knownAs, type SshTarget } from './ssh/config.ts'
import { listConfigHosts } from './ssh/config-hosts.ts'
import { parseDestination } from './ssh/destination.ts'
import { readWay, type Way, type WayDeps } from './ssh-way.ts'

/** How a host is dialled, for people. Empty text and lists = nothing of the kind. */
export interface ShownSsh {
  address: string
  port: number
  user: string
  /** user@address:port, first to dial first. */
  jump: string[]
  proxyCommand: string
  /** In the order they are tried. */
  identityFiles: string[]
  identitiesOnly: boolean
  identityAgent: string
  knownHostsFiles: string[]
  hostKeyName: string
  sshClient: 'ssh2' | 'openssh' | ''
  sshClientDetail: string
  /** For a shell; empty where a shell has no such way. */
  command: string
  hostKeys: Pick<HostKeyRow, 'type' | 'fingerprint' | 'how' | 'firstSeen'>[]
}

export interface ShownSshDeps extends WayDeps {
  hostKeys: { list(host: string, port: number): HostKeyRow[] }
}

/** Of a host of the fleet: what its row says; nothing is read and nothing run. Undefined = it is this computer. */
export function shownOfHost({ hostKeys }: Pick<ShownSshDeps, 'hostKeys'>, row: HostRow): ShownSsh | undefined {
  const { ssh } = row
  if (!ssh) return undefined
  const hostKeyName = ssh.hostKeyName ?? ssh.host
  const filed = knownAs({ address: ssh.host, port: ssh.port, hostKeyName })
  // The key of this store is not a file that a shell could use.
  const own = row.credential !== 'login'
  return {
    address: ssh.host,
    port: ssh.port,
    user: ssh.user,
    jump: (ssh.hops ?? []).map(hopText),
    proxyCommand: '',
    identityFiles: ssh.identityFile === '' || own ? [] : [ssh.identityFile],
    identitiesOnly: ssh.identitiesOnly ?? false,
    identityAgent: ssh.identityAgent ?? '',
    knownHostsFiles: ssh.knownHostsFiles ?? [],
    hostKeyName,
    sshClient: ssh.client ?? 'ssh2',
    sshClientDetail: ssh.clientDetail ?? '',
    command: own ? '' : commandOf({ ...ssh, name: nameOf(ssh), jump: (ssh.hops ?? []).map(hopText) }),
    hostKeys: hostKeys.list(filed.host, filed.port),
  }
}

/**
 * Of a way a person typed: what their SSH configuration makes of it. Undefined = the configuration has Match exec, which
 * runs commands when it is read, and `mayRun` is false. Raises input/invalid, ssh/config-invalid, ssh/key-unreadable.
 */
export async function shownOfWay(
  deps: ShownSshDeps,
  way: SshWay,
  { mayRun, signal }: { mayRun: boolean; signal: AbortSignal },
): Promise<ShownSsh | undefined> {
  parseDestination(way.host)
  if (!mayRun && (await listConfigHosts(deps.sshDir)).matchExec) return undefined
  return shownOfRead(deps, await readWay(deps, way, signal, { detail: () => {} }))
}

async function shownOfRead({ hostKeys }: ShownSshDeps, { host, hops, choice, typed }: Way): Promise<ShownSsh> {
  const { target, says } = host
  const filed = knownAs(target)
  const there = await Promise.all(target.identityFiles.map(exists))
  const jump = hops.map((hop) => hopText(rowOfHop(hop.target)))
  return {
    address: target.address,
    port: target.port,
    user: target.user,
    jump,
    proxyCommand: says.proxyCommand,
    identityFiles: target.identityFiles.filter((_, i) => there[i]),
    identitiesOnly: target.identitiesOnly,
    identityAgent: target.identityAgent,
    knownHostsFiles: target.knownHostsFiles,
    hostKeyName: target.hostKeyName,
    sshClient: choice.client,
    sshClientDetail: choice.client === 'openssh' ? choice.detail : '',
    command: commandOf({
      name: typed.host,
      user: target.user,
      port: target.port,
      identityFile: typed.identityFile ?? '',
      jump: typed.jump ? jump : [],
    }),
    hostKeys: hostKeys.list(filed.host, filed.port),
  }
}

interface Dialled {
  /** As ssh is told: a name of its configuration, or an address. */
  name: string
  user: string
  port: number
  identityFile: string
  jump: readonly string[]
}

/** Pure: the line for a shell that goes the same way. */
export function commandOf({ name, user, port, identityFile, jump }: Dialled): string {
  const words = [
    'ssh',
    ...(port === 22 ? [] : ['-p', String(port)]),
    ...(identityFile === '' ? [] : ['-i', identityFile]),
    ...(jump.length === 0 ? [] : ['-J', jump.join(',')]),
    user === '' ? name : `${user}@${name}`,
  ]
  return words.map(shellText).join(' ')
}

const shellText = (word: string): string =>
  /^[A-Za-z0-9_./:@,%+~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** What the person typed names it best: their configuration may say more of that name. */
const nameOf = (ssh: HostSsh): string => ssh.typed?.host ?? parseDestination(ssh.hostname || ssh.host).host

const rowOfHop = ({ user, address, port }: SshTarget) => ({ user, host: address, port })

const hopText = ({ user, host, port }: Pick<HostHop, 'user' | 'host' | 'port'>): string => {
  const at = host.includes(':') ? `[${host}]` : host
  return `${user}@${at}${port === 22 ? '' : `:${port}`}`
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )
