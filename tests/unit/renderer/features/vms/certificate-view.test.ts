import { describe, expect, it } from 'vitest'
import { hostCertificateState, isSameKey, keyWords } from '../../../../../src/renderer/features/vms/certificate-view.ts'
import { at } from '../../../../support/fake-fleet/rows.ts'

const NOW = new Date(2026, 10, 30, 14, 2, 11).getTime()
const DAY = 86_400_000

describe('the state of a host certificate', () => {
  it.each<[string, string, number, Parameters<typeof hostCertificateState>[2]]>([
    ['Valid', 'good', 300, { isRevoked: false }],
    ['Expires in 5 d', 'warn', 5, { isRevoked: false }],
    ['Expired', 'quiet', -1, { isRevoked: false }],
    ['Revoked', 'bad', 300, { isRevoked: true }],
    ['Being replaced', 'warn', 300, { isRevoked: false, ca: 'retired' }],
  ])('is %s', (word, tone, days, around) => {
    expect(hostCertificateState({ validBefore: at(NOW + days * DAY) }, NOW, around)).toMatchObject({ word, tone })
  })
})

describe('keys of CAs', () => {
  const line = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHx3kQ2vYb0c8dPq7RkVJm5nT1sWzLgU9eBoXfAiCyHd people@desk'

  it('are named by type, tail and comment', () => {
    expect(keyWords(line)).toBe('ed25519 …BoXfAiCyHd people@desk')
  })

  it('are the same whatever their comment', () => {
    expect(isSameKey(line, line.replace('people@desk', ''))).toBe(true)
    expect(isSameKey(line, 'ssh-ed25519 AAAA other')).toBe(false)
  })
})
