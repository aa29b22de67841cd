import { isAbsolute, join } from 'node:path'
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

/** What the configuration says that decides which SSH client can do it. Empty text and lists = it does not say. */
export interface ConfigSays {
  /** As written: "bastion", "a,ops@b:2222". */
  proxyJump: string
  proxyCommand: string
  certificateFiles: string[]
  pkcs11Provider: string
  /** Another one than OpenSSH's own. */
  securityKeyProvider: string
  knownHostsCommand: string
  /** An address or interface to dial from. */
  bind: string
  hostbased: boolean
  gssapi: boolean
}

/** A host as its configuration has it. */
export interface ConfiguredHost {
  target: SshTarget
  says: ConfigSays
}

export interface ConfigContext {
  home: string
  /** The person's ~/.ssh, wherever that is. */
  sshDir: string
  env: Readonly<Record<string, string | undefined>>
}

const NONE = new Set(['', 'none'])

/** Where the host's key is filed; an alias stands without a port. */
export const knownAs = (target: Pick<SshTarget, 'address' | 'port' | 'hostKeyName'>): { host: string; port: number } =>
  target.hostKeyName === target.address
    ? { host: target.address, port: target.port }
    : { host: target.hostKeyName, port: 22 }

/** Pure: the output of `ssh -G` as a target, and what of it is not for every SSH client. */
export function targetFromConfig(output: string, destination: Destination, context: ConfigContext): ConfiguredHost {
  const values = parseConfigOutput(output)
  const one = (key: string) => values.get(key)?.[0] ?? ''
  const address = one('hostname') || destination.host
  const tokens = { h: address, n: destination.host, p: one('port') || '22', r: one('user') }
  const path = (text: string) => expandPath(expandTokens(text, tokens, context), context)
  const target = {
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
  return { target, says: saysOf(values, path) }
}

function saysOf(values: ReadonlyMap<string, string[]>, path: (text: string) => string): ConfigSays {
  const one = (key: string) => {
    const value = values.get(key)?.[0] ?? ''
    return NONE.has(value) ? '' : value
  }
  const provider = one('securitykeyprovider')
  return {
    proxyJump: one('proxyjump'),
    proxyCommand: one('proxycommand'),
    certificateFiles: (values.get('certificatefile') ?? []).filter((file) => !NONE.has(file)).map(path),
    pkcs11Provider: one('pkcs11provider'),
    securityKeyProvider: provider === 'internal' ? '' : provider,
    knownHostsCommand: one('knownhostscommand'),
    bind: one('bindaddress') || one('bindinterface'),
    hostbased: one('hostbasedauthentication') === 'yes',
    gssapi: one('gssapiauthentication') === 'yes',
  }
}

/** Nothing said: what a host without a configuration has. */
export const SAYS_NOTHING: ConfigSays = {
  proxyJump: '',
  proxyCommand: '',
  certificateFiles: [],
  pkcs11Provider: '',
  securityKeyProvider: '',
  knownHostsCommand: '',
  bind: '',
  hostbased: false,
  gssapi: false,
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

/** `ssh -G` leaves the tokens of file names as written. */
function expandTokens(written: string, tokens: Record<string, string>, { home, env }: ConfigContext): string {
  const all: Record<string, string> = { ...tokens, '%': '%', d: home, u: env['USER'] ?? '' }
  return written.replace(/%(.)/g, (text, letter: string) => all[letter] ?? text)
}

/** `~`, and the home's .ssh moved to where the person's really is. */
function expandPath(written: string, { home, sshDir }: ConfigContext): string {
  const text = written.replace(/^"(.*)"$/, '$1')
  const full = text.startsWith('~/') ? join(home, text.slice(2)) : isAbsolute(text) ? text : join(home, text)
  const usual = `${join(home, '.ssh')}/`
  return full.startsWith(usual) ? join(sshDir, full.slice(usual.length)) : full
}
