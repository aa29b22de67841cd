import { isAbsolute, join } from 'node:path'
import { Fault } from '../../../../ipc/faults.ts'
import type { Destination } from './destination.ts'

/** What is needed to dial a host, resolved once from the person's SSH configuration. */
export interface SshTarget {
  /** As typed: what people call it. */
  host: string
  /** Where to dial. */
  address: string
  port: number
  user: string
  /** Absolute paths in the order to try; some may not exist. */
  identityFiles: string[]
  /** Only these keys, also from the agent. */
  identitiesOnly: boolean
  /** Socket of the SSH agent; empty = none. */
  identityAgent: string
  /** The configuration names that agent, not the environment. */
  identityAgentNamed: boolean
  knownHostsFiles: string[]
  /** Name the host's key is filed under. */
  hostKeyName: string
}

export interface ConfigContext {
  home: string
  /** The person's ~/.ssh, wherever that is. */
  sshDir: string
  env: Readonly<Record<string, string | undefined>>
}

const NONE = new Set(['', 'none'])

/** Where the host's key is filed; an alias stands without a port. */
export const knownAs = (target: SshTarget): { host: string; port: number } =>
  target.hostKeyName === target.address
    ? { host: target.address, port: target.port }
    : { host: target.hostKeyName, port: 22 }

/** Pure: the output of `ssh -G` as a target. Raises ssh/unsupported naming what we cannot do. */
export function targetFromConfig(output: string, destination: Destination, context: ConfigContext): SshTarget {
  const values = parseConfigOutput(output)
  const one = (key: string) => values.get(key)?.[0] ?? ''
  const need = unsupportedNeed(one)
  if (need) throw new Fault('ssh/unsupported', 'permanent', { host: destination.host, need })
  const address = one('hostname') || destination.host
  const path = (text: string) => expandPath(text, context)
  return {
    host: destination.host,
    address,
    port: Number(one('port')) || 22,
    user: one('user'),
    identityFiles: (values.get('identityfile') ?? []).filter((file) => !NONE.has(file)).map(path),
    identitiesOnly: one('identitiesonly') === 'yes',
    identityAgent: agentSocket(one('identityagent'), context),
    identityAgentNamed: !['', 'SSH_AUTH_SOCK'].includes(one('identityagent')),
    knownHostsFiles: [one('userknownhostsfile'), one('globalknownhostsfile')]
      .flatMap((files) => files.split(/\s+/))
      .filter((file) => !NONE.has(file))
      .map(path),
    hostKeyName: one('hostkeyalias') || address,
  }
}

/** A target when there is no ssh program to ask: what was typed and the usual places. */
export function targetWithoutConfig(destination: Destination, user: string, context: ConfigContext): SshTarget {
  return {
    host: destination.host,
    address: destination.host,
    port: destination.port ?? 22,
    user: destination.user ?? user,
    identityFiles: DEFAULT_KEYS.map((name) => join(context.sshDir, name)),
    identitiesOnly: false,
    identityAgent: context.env['SSH_AUTH_SOCK'] ?? '',
    identityAgentNamed: false,
    knownHostsFiles: [join(context.sshDir, 'known_hosts'), '/etc/ssh/ssh_known_hosts'],
    hostKeyName: destination.host,
  }
}

/** Key files OpenSSH tries by itself, that we can use. */
export const DEFAULT_KEYS = ['id_ed25519', 'id_ecdsa', 'id_rsa'] as const

function unsupportedNeed(one: (key: string) => string): string | undefined {
  if (!NONE.has(one('proxyjump'))) return `a jump host (ProxyJump ${one('proxyjump')})`
  if (!NONE.has(one('proxycommand'))) return 'a ProxyCommand'
  if (!NONE.has(one('certificatefile'))) return 'a certificate (CertificateFile)'
  if (!NONE.has(one('pkcs11provider'))) return 'a PKCS#11 token (PKCS11Provider)'
  return undefined
}

function parseConfigOutput(output: string): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const line of output.split('\n')) {
    const match = /^(\S+)[ \t]+(.*?)\s*$/.exec(line)
    if (!match?.[1]) continue
    const key = match[1].toLowerCase()
    values.set(key, [...(values.get(key) ?? []), match[2] ?? ''])
  }
  return values
}

function agentSocket(written: string, context: ConfigContext): string {
  if (written === 'none') return ''
  const fromEnv = context.env['SSH_AUTH_SOCK'] ?? ''
  if (written === '' || written === 'SSH_AUTH_SOCK') return fromEnv
  if (written.startsWith('$')) return context.env[written.replace(/^\$\{?|\}$/g, '')] ?? ''
  return expandPath(written, context)
}

/** `~`, and the home's .ssh moved to where the person's really is. */
function expandPath(written: string, { home, sshDir }: ConfigContext): string {
  const text = written.replace(/^"(.*)"$/, '$1')
  const full = text.startsWith('~/') ? join(home, text.slice(2)) : isAbsolute(text) ? text : join(home, text)
  const usual = `${join(home, '.ssh')}/`
  return full.startsWith(usual) ? join(sshDir, full.slice(usual.length)) : full
}
