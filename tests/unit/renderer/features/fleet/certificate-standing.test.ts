import { expect, it } from 'vitest'
import { certificateStanding } from '../../../../../src/renderer/features/fleet/certificate-standing.ts'
import { at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30)
const DAY = 24 * 3600_000
const ends = (days: number, change: object = {}) =>
  aVm({ hostCertificate: { serial: '1', validBefore: at(NOW + days * DAY) }, ...change })
const word = (...vms: ReturnType<typeof aVm>[]) => certificateStanding(vms, NOW).state.word

it('the worst host certificate is the word of all', () => {
  expect([word(ends(400)), word(ends(400), ends(10)), word(ends(400), ends(10), ends(-1))]).toEqual([
    'Valid',
    'Expires soon',
    'Expired',
  ])
})

it('guests without one, deleted and unowned ones are not counted', () => {
  expect(word(aVm(), ends(-1, { deletedAt: at(NOW) }), ends(-1, { unowned: true }))).toBe('None yet')
  expect(certificateStanding([ends(400), aVm()], NOW).text).toBe('1 host certificate, none ends within 14 days.')
})
