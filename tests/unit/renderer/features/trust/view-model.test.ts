import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { CaSchema, VmTrustSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import {
  authoritiesInOrder,
  caNameOf,
  caNames,
  caState,
  certificateWord,
  cutOffWithout,
  entryState,
  guestFilterRecord,
  listProgress,
  listState,
} from '../../../../../src/renderer/features/trust/view-model.ts'

const NOW = Date.UTC(2026, 5, 1)
const MIN = 60_000
const DAY = 86_400_000
const ca = (change: MessageInitShape<typeof CaSchema>) =>
  create(CaSchema, { id: change.name ?? '', kind: 'user', held: 'file', state: 'trusted', ...(change as object) })
const guest = (change: MessageInitShape<typeof VmTrustSchema>) => create(VmTrustSchema, change)
const certificate = (from: number, until: number, revokedAt?: number) =>
  certificateWord(
    {
      ...{ validAfter: timestampFromMs(NOW + from), validBefore: timestampFromMs(NOW + until) },
      ...(revokedAt === undefined ? {} : { revokedAt: timestampFromMs(NOW + revokedAt) }),
    },
    NOW,
  ).word

describe('a certificate on the screen', () => {
  it.each([
    [-MIN, 29 * MIN, 'Valid', 'has most of its time before it'],
    [-27 * MIN, 3 * MIN, 'Expires in 3 min', 'is in its last fifth'],
    [-300 * DAY, 13 * DAY, 'Expires in 13 d', 'ends within two weeks'],
    [-300 * DAY, 20 * DAY, 'Valid', 'ends later than that'],
    [-30 * MIN, -1, 'Expired', 'is past its end'],
    [5 * MIN, 35 * MIN, 'Not yet valid (check clocks)', 'begins later than now'],
  ])('from %d until %d ms is %s because it %s', (from, until, word) => {
    expect(certificate(from, until)).toBe(word)
  })

  it('is revoked, whatever its dates', () => {
    expect(certificate(-MIN, MIN, -1)).toBe('Revoked')
    expect(certificate(-3 * MIN, -MIN, -2 * MIN)).toBe('Revoked')
  })
})

describe('an authority on the screen', () => {
  it.each([
    ['signing', '', 'Signing', 'good'],
    ['trusted', '', 'Trusted', 'quiet'],
    ['retired', '', 'Retired', 'quiet'],
    ['signing', 'the keychain is locked', 'Cannot sign', 'bad'],
    ['trusted', 'its file is gone', 'Key not usable', 'bad'],
    ['retired', 'its file is gone', 'Retired', 'quiet'],
  ])('that is %s with the problem %j is %s', (state, problem, word, tone) => {
    expect(caState(ca({ name: 'a', state, problem }))).toMatchObject({ word, tone })
  })

  it('stands before those that sign nothing, and these before retired ones', () => {
    const cas = [
      ca({ name: 'gone', state: 'retired' }),
      ca({ name: 'host', kind: 'host', state: 'signing' }),
      ca({ name: 'old' }),
      ca({ name: 'new', state: 'signing' }),
    ]
    expect(authoritiesInOrder(cas).map(({ name }) => name)).toEqual(['new', 'host', 'old', 'gone'])
  })

  it('is named by its name, and one of elsewhere by the head of its fingerprint', () => {
    const names = caNames([ca({ name: 'user-ca', fingerprint: 'SHA256:aaa' })])
    expect(caNameOf(names, 'SHA256:aaa')).toBe('user-ca')
    expect(caNameOf(names, 'SHA256:0123456789abcdef')).toBe('SHA256:0123456789…')
  })
})

describe('who would lose access', () => {
  const old = ca({ name: 'old', fingerprint: 'o' })
  const next = ca({ name: 'next', fingerprint: 'n' })
  const guests = [
    guest({ vmName: 'both', userCas: ['o', 'n'], hostCa: 'h' }),
    guest({ vmName: 'only-old', userCas: ['o'], hostCa: 'h' }),
    guest({ vmName: 'neither', userCas: ['x'] }),
  ]

  it('is who trusts no other one in use', () => {
    expect(cutOffWithout(old, [old, next], guests)).toEqual(['only-old'])
    expect(cutOffWithout(old, [old, { ...next, state: 'retired' }], guests)).toEqual(['both', 'only-old'])
  })

  it('is who holds a certificate of it, where no other could renew that', () => {
    const host = ca({ name: 'h', kind: 'host', fingerprint: 'h' })
    expect(cutOffWithout(host, [host, next], guests)).toEqual(['both', 'only-old'])
    const elsewhere = ca({ name: 'e', kind: 'host', held: 'elsewhere' })
    expect(cutOffWithout(host, [host, elsewhere], guests)).toEqual(['both', 'only-old'])
    expect(cutOffWithout(host, [host, ca({ name: 'k', kind: 'host' })], guests)).toEqual([])
  })
})

describe('a guest on the screen', () => {
  it.each([
    ['current', 'Newest', 'good'],
    ['older', 'Older', 'warn'],
    ['unreachable', 'Not reached', 'warn'],
    ['failed', 'Failed', 'bad'],
    ['', 'Unknown', 'unknown'],
    ['later', 'Unknown', 'unknown'],
  ])('that says %j of its list: %s', (revocations, word, tone) => {
    expect(listState({ revocations, detail: '' })).toMatchObject({ word, tone })
  })

  it('says why it did not take the list, in the words of its host', () => {
    expect(listState({ revocations: 'failed', detail: 'sshd said no' }).detail).toBe('sshd said no')
  })

  it('is cut off in so many words', () => {
    expect(entryState({ cutOff: true, detail: '' })).toMatchObject({ word: 'Cut off', tone: 'bad' })
    expect(entryState({ cutOff: false, detail: 'x' })).toMatchObject({ tone: 'good' })
  })

  it('is counted where it holds the newest list', () => {
    expect(listProgress([guest({ revocations: 'current' }), guest({})])).toBe('1 of 2 guests hold the newest list')
    expect(listProgress([guest({ revocations: 'current' })])).toBe('1 of 1 guest holds the newest list')
  })

  it('is found by the name of what it trusts', () => {
    const names = new Map([['o', 'user-ca']])
    expect(guestFilterRecord(guest({ vmName: 'web', userCas: ['o'], cutOff: true }), names)).toEqual({
      ...{ vm: 'web', trusts: 'user-ca', signed: 'none', entry: 'Cut off', list: 'Unknown' },
    })
  })
})
