import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import {
  CatalogueImageSchema,
  CollectImagesResponseSchema,
} from '../../../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import {
  catalogueGroups,
  collectionSum,
  comesHere,
  formatText,
  imageFilterRecord,
  sourceText,
  trustedBy,
  usersOf,
} from '../../../../../src/renderer/features/images/view-model.ts'
import { matchesFilter, parseFilter } from '../../../../../src/renderer/lib/filter.ts'
import { anImage, aVm } from '../../../../support/fake-fleet/rows.ts'

const LIST = 'https://cloud.example.test/SHA512SUMS'

describe('an image in the list', () => {
  it.each([
    ['listed', 'by its publisher', `SHA-256 was read from ${LIST} over TLS`],
    ['checked', 'by its publisher', `match the SHA-512 of ${LIST}`],
    ['built', 'built here', 'built from packages'],
    ['imported', 'from a file', 'nobody vouches'],
    ['given', 'as given', 'a person gave'],
    ['', 'not noted', 'before it was noted'],
  ])('whose digest is %j says how it came to be', (verified, word, how) => {
    const trusted = trustedBy({ verified, digestsUrl: LIST })
    expect(trusted.word).toBe(word)
    expect(trusted.how).toContain(how)
  })

  it('says what it is by its bytes, and only what is known', () => {
    expect(
      [
        { kind: 'kernel', format: '' },
        { kind: 'disk', format: 'qcow2' },
        { kind: 'disk', format: '' },
      ].map(formatText),
    ).toEqual(['kernel', 'qcow2', 'qcow2 or raw'])
    expect([sourceText({ url: '' }), sourceText({ url: 'https://a.example.test/x.img' })]).toEqual([
      'kept here',
      'a.example.test',
    ])
  })

  it('is found by what it is, where it is and whether it is used', () => {
    const image = anImage({ name: 'deb', os: 'Debian 12', cachedOn: ['h1'], usedBy: 2 })
    const finds = (filter: string) =>
      matchesFilter(
        imageFilterRecord(image, () => 'rack2-07'),
        parseFilter(filter, ['os', 'host', 'used', 'arch']),
      )
    expect(['os:debian', 'host:rack2', 'used:yes -arch:aarch64', 'used:no', 'host:edge'].map(finds)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ])
  })

  it('names who is made of it, those in quarantine too, and nobody else', () => {
    const image = anImage({ sha256: 'a'.repeat(64) })
    const vm = (name: string, change: object = {}) => aVm({ name, imageSha256: image.sha256, imageName: '', ...change })
    const users = usersOf(image, [
      vm('b'),
      vm('a'),
      vm('c', { imageSha256: 'b'.repeat(64) }),
      vm('d', { unowned: true }),
    ])
    expect(users.map(({ name }) => name)).toEqual(['a', 'b'])
  })
})

describe('the catalogue in the sheet', () => {
  const entry = (title: string, arch: string, digestsUrl = LIST) =>
    create(CatalogueImageSchema, { id: `${title}-${arch}`, title, arch, digestsUrl })

  it('has one part a system, the architectures of this fleet first', () => {
    const groups = catalogueGroups(
      [entry('A', 'x86_64'), entry('A', 'aarch64'), entry('B', 'x86_64')],
      new Set(['aarch64']),
    )
    expect(groups.map(({ title, entries }) => [title, entries.map(({ arch }) => arch)])).toEqual([
      ['A', ['aarch64', 'x86_64']],
      ['B', ['x86_64']],
    ])
  })

  it('says which images come to this computer first', () =>
    expect([
      comesHere(entry('A', 'x86_64')),
      comesHere(entry('B', 'x86_64', 'https://b.example.test/SHA256SUMS')),
    ]).toEqual([true, false]))
})

describe('cleaning up', () => {
  it('is summed over the hosts that answered', () => {
    const { hosts } = create(CollectImagesResponseSchema, {
      hosts: [
        { hostName: 'a', removed: [{ sizeBytes: 5n }, { sizeBytes: 7n }] },
        { hostName: 'b', fault: { code: 'host/no-answer' } },
      ],
    })
    expect(collectionSum(hosts)).toEqual({ items: 2, bytes: 12n, silent: 1 })
  })
})
