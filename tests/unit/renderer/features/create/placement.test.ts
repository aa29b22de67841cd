import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import {
  createToRunning,
  rangeText,
  sendingRate,
  transferText,
} from '../../../../../src/renderer/features/create/estimates.ts'
import { pickFor, placesFor, whatStays } from '../../../../../src/renderer/features/create/placement.ts'
import { poolWords } from '../../../../../src/renderer/features/fleet/capacity.ts'
import { aHost, aTask, aVm } from '../../../../support/fake-fleet/rows.ts'

const NEED = { vcpus: 2, memMb: 4096, diskGb: 20, archs: ['x86_64'], network: '' }
const size = (vcpus: number, memMb: number, diskGb: number) =>
  ({ vcpus, memMb: BigInt(memMb), diskGb: BigInt(diskGb) }) as never
const host = (name: string, freeMb: number, change: Parameters<typeof aHost>[0] = {}) =>
  aHost({
    id: name.padEnd(32, '0'),
    name,
    arch: 'x86_64',
    link: 'connected',
    stale: false,
    capacity: size(8, 32_768, 500),
    allocated: size(2, 32_768 - freeMb, 100),
    ...change,
  })

describe('a place for a VM', () => {
  it('is picked as the control plane would: of those that answer, the one with most free memory', () => {
    const hosts = [
      host('a', 8_192),
      host('b', 16_384),
      host('c', 30_000, { link: 'unreachable' }),
      host('d', 31_000, { draining: 'leave' }),
    ]
    const picked = pickFor(hosts, NEED)
    expect([picked?.place.host.name, picked?.why]).toEqual(['b', 'most memory free: 16 GB'])
  })

  it('says why it was picked where there was no choice', () => {
    expect(pickFor([host('a', 1)], NEED)?.why).toBe('the only host')
    expect(pickFor([host('a', 1, { link: 'unreachable' }), host('b', 2, { link: 'unreachable' })], NEED)?.why).toBe(
      'no host answers now',
    )
    expect(pickFor([], NEED)).toBeUndefined()
  })

  it('says why nothing can be made there, or what to know before', () => {
    const said = placesFor(
      [
        host('full', 1_024),
        host('good', 8_192),
        host('arm', 8_192, { arch: 'aarch64' }),
        host('small', 8_192, { capacity: size(8, 2_048, 500) }),
        host('away', 8_192, { link: 'unreachable' }),
        host('leaving', 8_192, { draining: 'stop' }),
        host('untold', 8_192, { capacity: undefined as never }),
      ],
      NEED,
    ).map(({ host: { name }, refused, caution }) => [name, refused ?? caution])
    expect(said).toEqual([
      ['good', undefined],
      ['away', 'Not connected now: the VM waits for it'],
      ['full', 'Promises more memory than it has: 1 GB left'],
      ['untold', 'It has not told what it has'],
      ['arm', 'It is aarch64, and the image is for x86_64'],
      ['leaving', 'It is being drained and takes no new VMs'],
      ['small', 'It has 2 GB of memory in all'],
    ])
  })

  it('is never one that cannot run the image while another can, however full that one is', () => {
    const hosts = [host('arm', 30_000, { arch: 'aarch64' }), host('full', 1), host('away', 9_000, { stale: true })]
    expect(pickFor(hosts, NEED)).toMatchObject({ place: { host: { name: 'full' }, refused: undefined } })
    expect(pickFor(hosts, { ...NEED, archs: ['aarch64'] })?.place.host.name).toBe('arm')
    expect(pickFor([hosts[0]!], NEED)?.place.refused).toBe('It is aarch64, and the image is for x86_64')
  })

  it('says before anything is made that its guests would run without KVM', () => {
    const [place] = placesFor([host('a', 8_192, { acceleration: 'tcg' })], NEED)
    expect([place?.refused, place?.caution]).toEqual([undefined, 'No KVM: several times slower'])
  })

  it('says what is in use, promised with this VM, and free, as the fleet does', () => {
    const metrics = { memTotalBytes: 32n << 30n, memAvailableBytes: 20n << 30n, cpuBusyPermille: 250 }
    const said = (need: typeof NEED, change: object = { metrics }) =>
      whatStays(placesFor([host('a', 8_192, change)], NEED)[0]!, need).map(poolWords)
    expect(said(NEED)[1]).toEqual({
      ...{ promised: '28 GB of 32 GB promised', used: '12 GB in use (38 %)', free: '4 GB not promised', over: false },
    })
    expect(said(NEED)[0]).toMatchObject({ promised: '4 of 8 promised', used: '2 in use (25 %)' })
    expect(said({ ...NEED, memMb: 9_216 })[1]).toMatchObject({ free: '1 GB more promised than there is', over: true })
    expect(said(NEED, { metrics: undefined })[2]).toMatchObject({
      promised: '120 GB of 500 GB promised',
      used: 'use not reported',
    })
    expect(said(NEED, { capacity: undefined })).toEqual([])
  })
})

const took = (ms: number, more: object = {}) =>
  aVm({ createdAt: timestampFromMs(1_000_000), startedAt: timestampFromMs(1_000_000 + ms), ...more })

describe('how long it takes', () => {
  it('is what VMs of this fleet took from being asked for to their first start', () => {
    const range = createToRunning([took(3_000), took(4_000), took(5_000), took(9_000), took(86_400_000), took(-5)])
    expect(range).toEqual({ fromMs: 4_000, toMs: 9_000, of: 4 })
    expect(rangeText(range, 'VM')).toBe('4 s to 9 s, as 4 VMs took')
  })

  it('is not said where there was none', () => {
    expect(createToRunning([])).toBeUndefined()
    expect(transferText(5n, undefined)).toBeUndefined()
  })

  it('of an image is by the rate at which images went before', () => {
    const step = {
      name: 'Send',
      state: 'done',
      doneBytes: 100_000_000n,
      startedAt: timestampFromMs(0),
      endedAt: timestampFromMs(10_000),
    }
    const rate = sendingRate([
      aTask({ kind: 'push_image', steps: [step] as never }),
      aTask({ kind: 'build_image', steps: [step] as never }),
    ])
    expect(rate).toBe(10_000_000)
    expect(transferText(600_000_000n, rate)).toBe('about 1 min at 10.0 MB/s, as images were sent before')
  })
})
