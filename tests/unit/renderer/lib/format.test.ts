import { describe, expect, it } from 'vitest'
import {
  formatAgo,
  formatBytes,
  formatDuration,
  formatElapsed,
  formatGib,
  formatMemory,
  formatMemoryBytes,
  formatMoment,
  formatPermille,
  formatTime,
  plural,
} from '../../../../src/renderer/lib/format.ts'

describe('what people read', () => {
  it.each([
    [0, '0 %'],
    [4, '<1 %'],
    [10, '1 %'],
    [118, '12 %'],
    [1000, '100 %'],
  ])('%i thousandths are %s', (permille, text) => expect(formatPermille(permille)).toBe(text))

  it('memory is said in the units it is sold in', () => {
    expect([formatMemoryBytes(412n * 1024n ** 2n), formatMemoryBytes(1.5 * 1024 ** 3)]).toEqual(['412 MB', '1.5 GB'])
  })

  it('says disks as they are given out, in the same units as memory', () => {
    expect([formatGib(10), formatGib(1800n), formatMemoryBytes(1_310_000_000_000n)]).toEqual([
      '10 GB',
      '1.8 TB',
      '1.2 TB',
    ])
  })

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 KB'],
    [999_499, '999 KB'],
    [999_999, '1.0 MB'],
    [24_600_000n, '24.6 MB'],
    [150_000_000, '150 MB'],
    [1_310_000_000_000n, '1.3 TB'],
  ])('%s bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text))

  it.each([
    [96, '96 MB'],
    [512, '512 MB'],
    [1024, '1 GB'],
    [1536, '1.5 GB'],
    [131072n, '128 GB'],
    [1_800_294, '1.7 TB'],
  ])('%s MiB of memory are %s', (mib, text) => expect(formatMemory(mib)).toBe(text))

  it.each([
    [-5, '0 s'],
    [41_000, '41 s'],
    [120_000, '2 min'],
    [125_000, '2 min 5 s'],
    [754_000, '12 min'],
    [3_600_000, '1 h'],
    [3_900_000, '1 h 5 min'],
    [86_400_000, '1 d'],
    [532_800_000, '6 d 4 h'],
  ])('%s ms last %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  it('shows tenths while a step is young, so that something is seen to move', () => {
    expect(formatElapsed(5640)).toBe('5.6 s')
    expect(formatElapsed(12_400)).toBe('12 s')
  })

  const now = new Date(2026, 10, 30, 14, 2, 11)
  it('names the date only of another day', () => {
    expect(formatTime(new Date(2026, 10, 30, 9, 5, 7), now)).toBe('09:05:07')
    expect(formatTime(new Date(2026, 10, 29, 9, 5, 7), now)).toBe('2026-11-29 09:05:07')
    expect(formatMoment(new Date(2026, 10, 30, 9, 5), now)).toBe('09:05')
    expect(formatMoment(new Date(2026, 11, 6, 9, 5), now)).toBe('6 Dec 09:05')
  })

  it.each([
    [2, 'just now'],
    [40, '40 s ago'],
    [200, '3 min ago'],
    [7300, '2 h ago'],
    [90_000, '1 d ago'],
  ])('%s seconds back is %s', (s, text) => expect(formatAgo(new Date(now.getTime() - s * 1000), now)).toBe(text))

  it('counts one and many', () => {
    expect([plural(1, 'VM'), plural(2, 'VM'), plural(0, 'VM')]).toEqual(['1 VM', '2 VMs', '0 VMs'])
  })
})
