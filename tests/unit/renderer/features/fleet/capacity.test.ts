import { expect, it } from 'vitest'
import { capacityOf, poolWords } from '../../../../../src/renderer/features/fleet/capacity.ts'
import { aHost } from '../../../../support/fake-fleet/rows.ts'

const told = (change: object = {}) =>
  aHost({
    capacity: { vcpus: 48, memMb: 131_072n, diskGb: 1800n },
    allocated: { vcpus: 12, memMb: 65_536n, diskGb: 200n },
    metrics: {
      ...{ cpuBusyPermille: 250, memTotalBytes: 137_438_953_472n, memAvailableBytes: 103_079_215_104n },
      ...{ diskTotalBytes: 1_932_735_283_200n, diskFreeBytes: 1_610_612_736_000n },
    },
    ...change,
  })

it('adds up what hosts have, what is promised and what is in use', () => {
  const { pools } = capacityOf([told(), told()])
  expect(pools.map(poolWords)).toEqual([
    { promised: '24 of 96 promised', used: '24 in use (25 %)', free: '72 not promised', over: false },
    { promised: '128 GB of 256 GB promised', used: '64 GB in use (25 %)', free: '128 GB not promised', over: false },
    { promised: '400 GB of 3.5 TB promised', used: '600 GB in use (17 %)', free: '3.1 TB not promised', over: false },
  ])
})

it('counts a host that never told what it has nowhere, and says so', () => {
  const unknown = aHost({ name: 'new', allocated: { vcpus: 2, memMb: 512n, diskGb: 10n } })
  delete unknown.capacity
  const { pools, untold } = capacityOf([told(), unknown])
  expect([pools[0]?.total, pools[0]?.promised, untold]).toEqual([48, 12, 1])
})

it('does not take the last known use of a silent host for what is, and keeps its promises', () => {
  const { pools, silent } = capacityOf([told(), told({ link: 'unreachable' })])
  expect([pools[0]?.promised, pools[0]?.used, pools[0]?.usedOf, silent]).toEqual([24, 12, 48, 1])
})

it('says that nothing measured it rather than that nothing is used', () => {
  const { pools } = capacityOf([told({ stale: true })])
  expect(poolWords(pools[1]!).used).toBe('use not reported')
})

it('says by how much more is promised than there is', () => {
  const { pools } = capacityOf([told({ allocated: { vcpus: 60, memMb: 0n, diskGb: 0n } })])
  expect(poolWords(pools[0]!)).toMatchObject({ free: '12 more promised than there is', over: true })
})
