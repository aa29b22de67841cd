import { describe, expect, it } from 'vitest'
import {
  certificateState,
  isSameKey,
  keyWords,
  revocationsState,
} from '../../../../../src/renderer/features/vms/certificate-view.ts'

const NOW = new Date(2026, 10, 30, 14, 2, 11).getTime()
const DAY = 86_400_000

describe('the state of a host certificate', () => {
  it.each<[string, string, number, Parameters<typeof certificateState>[2]]>([
    ['Valid', 'good', 300, {}],
    ['Expires in 5 d', 'warn', 5, {}],
    ['Expired', 'bad', -1, {}],
    ['Revoked', 'bad', 300, { revoked: true }],
    ['Being replaced', 'warn', 300, { ca: 'retired' }],
  ])('is %s', (word, tone, days, around) => {
    expect(certificateState(NOW + days * DAY, NOW, around)).toMatchObject({ word, tone })
  })
})

describe('what a guest holds of revoked certificates', () => {
  it('is not known where nobody could say, which is not "the newest"', () => {
    expect(revocationsState(undefined)).toEqual({ word: 'Not known', tone: 'unknown' })
    expect(revocationsState('')).toMatchObject({ word: 'Not tried yet' })
    expect(revocationsState('current').tone).toBe('good')
    expect(revocationsState('failed').tone).toBe('bad')
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
