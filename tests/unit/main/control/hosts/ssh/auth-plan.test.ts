import { describe, expect, it } from 'vitest'
import { keyIdOf, MAX_KEY_OFFERS, planMethods } from '../../../../../../src/main/control/hosts/ssh/auth-plan.ts'
import type { Credentials } from '../../../../../../src/main/control/hosts/ssh/credentials.ts'
import { newSshKey } from '../../../../../support/ssh-key.ts'

const aKey = () => newSshKey().key
const file = (name: string, key = aKey()) => ({ kind: 'key' as const, file: name, key })
const credentials = (over: Partial<Credentials> = {}): Credentials => ({
  user: 'ops',
  files: [],
  agentKeys: [],
  agent: undefined,
  password: undefined,
  ...over,
})
const kinds = (c: Credentials) => planMethods(c).methods.map((method) => method.kind)
const keysOf = (...plan: Parameters<typeof planMethods>) =>
  planMethods(...plan).methods.flatMap((method) => ('key' in method ? [method.key] : []))

describe('the plan of a sign-in', () => {
  it('learns first what the server takes, then offers keys, lets the server ask, and ends with the password', () => {
    const all = credentials({ files: [file('/a')], agentKeys: [aKey()], password: 'pw' })
    expect(kinds(all)).toEqual(['none', 'key', 'agent', 'keyboard', 'password'])
    expect(kinds(credentials())).toEqual(['none', 'keyboard'])
  })

  it('offers a key once when the agent holds it too', () => {
    const key = aKey()
    expect(kinds(credentials({ files: [file('/a', key)], agentKeys: [key] }))).toEqual(['none', 'agent', 'keyboard'])
  })

  it('leaves locked and unreadable files out', () => {
    const files = [
      { kind: 'locked' as const, file: '/l' },
      { kind: 'unreadable' as const, file: '/u', detail: 'EACCES' },
    ]
    expect(kinds(credentials({ files }))).toEqual(['none', 'keyboard'])
  })

  it('offers the key that let us in last before the configured ones, and those before what else the agent holds', () => {
    const [other, configured, last] = [aKey(), aKey(), aKey()]
    const all = credentials({ files: [file('/a', configured)], agentKeys: [other, last], first: keyIdOf(last) })
    expect(keysOf(all)).toEqual([last, configured, other])
  })

  it('never offers more keys than sshd allows failures, and says how many are left for another connection', () => {
    const files = Array.from({ length: 9 }, (_, i) => file(`/k${i}`))
    const all = credentials({ files, agentKeys: [aKey(), aKey()], password: 'pw' })
    expect(keysOf(all)).toHaveLength(MAX_KEY_OFFERS)
    expect(planMethods(all).left).toBe(11 - MAX_KEY_OFFERS)
  })

  it('leaves out on another connection what the server refused on the one before', () => {
    const files = Array.from({ length: 7 }, (_, i) => file(`/k${i}`))
    const all = credentials({ files })
    const refused = new Set(keysOf(all).map(keyIdOf))
    expect(keysOf(all, { refused })).toEqual(files.slice(MAX_KEY_OFFERS).map(({ key }) => key))
    expect(planMethods(all, { refused }).left).toBe(0)
  })
})
