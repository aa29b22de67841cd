import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { CacheItemSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import {
  collectionLines,
  freedBy,
  hostStorage,
  takenWords,
} from '../../../../../src/renderer/features/hosts/storage-view.ts'
import { aHost, anImage, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const GIB = 1024n ** 3n

describe('what takes the disk of a host', () => {
  const host = aHost({ id: 'h1' })
  const vm = (change: Parameters<typeof aVm>[0]) => aVm({ hostId: 'h1', ...(change as object) })

  it('is told apart: VMs, quarantine, images; and what nobody measured is said', () => {
    const vms = [
      vm({ metrics: { diskUsedBytes: 2n * GIB } }),
      vm({}),
      vm({ deletedAt: at(1), metrics: { diskUsedBytes: GIB } }),
      aVm({ hostId: 'other', metrics: { diskUsedBytes: 9n * GIB } }),
    ]
    const images = [anImage({ name: 'b', cachedOn: ['h1'] }), anImage({ name: 'a', cachedOn: ['h1', 'x'] }), anImage()]
    const view = hostStorage(host, vms, images)
    expect(takenWords(view.alive)).toBe('2 GB by 2 VMs, 1 of them not measured')
    expect(takenWords(view.quarantine)).toBe('1 GB by 1 VM')
    expect(view.images.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  it('is unknown, not zero, where the host did not say', () => {
    const silent = aHost({ id: 'h1' })
    delete silent.metrics
    expect(hostStorage(silent, [], []).disk).toBeUndefined()
    expect(takenWords({ vms: 0, bytes: 0, silent: 0 })).toBe('none')
    expect(takenWords({ vms: 2, bytes: 0, silent: 2 })).toBe('2 VMs, not measured')
  })
})

describe('a collection', () => {
  const item = (change: object) => create(CacheItemSchema, { sha256: 'ab'.repeat(32), whole: true, ...change })
  const plan = {
    removed: [
      item({ sizeBytes: GIB, reason: 'age', unusedS: 172_800n }),
      item({ sizeBytes: 2n * GIB, reason: 'asked', names: ['old'] }),
    ],
    kept: [
      item({ names: ['tiny'], reason: 'in_use', vms: ['web'] }),
      item({ whole: false, reason: 'transfer', names: ['new'] }),
    ],
  }

  it('says what goes first, the largest before the others, and why the rest stays', () => {
    expect(collectionLines(plan).map(({ name, goes, why }) => [name, goes, why])).toEqual([
      ['old', true, 'nothing refers to it'],
      ['not in this fleet, abababab', true, 'not used for long, unused for 2 d'],
      ['tiny', false, 'in use: web'],
      ['new (unfinished transfer)', false, 'being sent'],
    ])
    expect(freedBy(plan)).toBe(Number(3n * GIB))
  })
})
