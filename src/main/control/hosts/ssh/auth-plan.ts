import type { ParsedKey } from 'ssh2'
import type { Credentials } from './credentials.ts'

export type KeyMethod = { kind: 'agent'; key: ParsedKey } | { kind: 'key'; file: string; key: ParsedKey }

export type Method = { kind: 'none' } | KeyMethod | { kind: 'keyboard' } | { kind: 'password'; password: string }

/** sshd ends the connection after six failures by default: five keys leave one try for a password. */
export const MAX_KEY_OFFERS = 5

export const WIRE_NAME = {
  none: 'none',
  agent: 'publickey',
  key: 'publickey',
  password: 'password',
  keyboard: 'keyboard-interactive',
} as const satisfies Record<Method['kind'], string>

/** A key by its public half, as the host's row remembers the one that let us in: base64. */
export const keyIdOf = (key: ParsedKey): string => key.getPublicSSH().toString('base64')

/**
 * Pure: everything to try on one connection, in order: nothing first (it tells what the server takes), keys, the server's
 * own prompts, then the password; as OpenSSH does. `left` = keys that need another connection.
 */
export function planMethods(
  credentials: Credentials,
  { refused = new Set<string>(), maxKeys = MAX_KEY_OFFERS }: { refused?: ReadonlySet<string>; maxKeys?: number } = {},
): { methods: Method[]; left: number } {
  const keys = orderKeys(credentials).filter(({ key }) => !refused.has(keyIdOf(key)))
  const { password } = credentials
  return {
    methods: [
      { kind: 'none' },
      ...keys.slice(0, maxKeys),
      { kind: 'keyboard' },
      ...(password === undefined ? [] : [{ kind: 'password' as const, password }]),
    ],
    left: Math.max(0, keys.length - maxKeys),
  }
}

/** The key that worked last, the configured ones from the agent, the configured files, and what else the agent holds. */
function orderKeys({ agentKeys, files, first }: Credentials): KeyMethod[] {
  const opened = files.filter((file) => file.kind === 'key')
  const named = new Set(
    files.flatMap((file) =>
      file.kind === 'key' ? [keyIdOf(file.key)] : 'publicBlob' in file && file.publicBlob ? [b64(file.publicBlob)] : [],
    ),
  )
  const held = new Set(agentKeys.map(keyIdOf))
  const fromAgent = agentKeys.map((key): KeyMethod => ({ kind: 'agent', key }))
  const isNamed = ({ key }: KeyMethod) => named.has(keyIdOf(key))
  const keys: KeyMethod[] = [
    ...fromAgent.filter(isNamed),
    ...opened
      .filter(({ key }) => !held.has(keyIdOf(key)))
      .map(({ file, key }): KeyMethod => ({ kind: 'key', file, key })),
    ...fromAgent.filter((method) => !isNamed(method)),
  ]
  const worked = keys.filter(({ key }) => keyIdOf(key) === first)
  return [...worked, ...keys.filter((method) => !worked.includes(method))]
}

const b64 = (blob: Buffer) => blob.toString('base64')
