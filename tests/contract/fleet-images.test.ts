import { afterEach, describe, expect, it, vi } from 'vitest'
import { ScriptedHost } from '../support/scripted-host.ts'
import { anId } from '../support/store-rows.ts'

const sha256 = 'e'.repeat(64)

let rig: ScriptedHost
afterEach(() => rig?.[Symbol.asyncDispose]())

const aRig = (url = '') =>
  ScriptedHost.open((stores) => {
    stores.images.create({
      ...{ id: anId(), name: 'some', kind: 'disk', format: '', arch: 'x86_64', url, sha256, sizeBytes: 5 },
      ...{ defaultVcpus: 0, defaultMemMb: 0, defaultDiskGb: 0, description: '' },
    })
  })

describe('the catalogue of images', () => {
  it('is listed with what was added from it, and asks nobody', async () => {
    rig = await aRig()
    const { images } = await rig.client.images.listCatalogue({})
    expect(images.map(({ id }) => id)).toEqual(expect.arrayContaining(['debian-12-amd64', 'ubuntu-24-04-arm64']))
    expect(images.every(({ addedAs }) => addedAs === '')).toBe(true)
    expect((await rig.eitri('image', 'catalogue')).out).toContain('Debian 12 (bookworm)')
  })

  it('has no entry of a name nobody gave', async () => {
    rig = await aRig()
    await expect(rig.client.images.addCatalogueImage({ entry: 'windows' })).rejects.toThrow(
      'The catalogue has no image windows',
    )
  })

  it('does not take a name that is in use', async () => {
    rig = await aRig()
    await expect(rig.client.images.addCatalogueImage({ entry: 'debian-12-amd64', name: 'some' })).rejects.toThrow(
      'already here',
    )
  })
})

describe('pushing an image', () => {
  it('needs no task where the host has it', async () => {
    rig = await aRig()
    rig.agent.report({ images: [{ sha256, sizeBytes: 5n }] })
    await vi.waitFor(async () => expect((await rig.client.images.listImages({})).images[0]?.cachedOn).toHaveLength(1))
    expect((await rig.client.images.pushImage({ image: 'some', host: 'rack' })).task).toBeUndefined()
    expect((await rig.eitri('image', 'push', 'some', '--host', 'rack')).out).toBe('some was on rack already.\n')
  })

  it('of an address without TLS is left to the host', async () => {
    rig = await aRig('http://images.example.test/some.img')
    await expect(rig.client.images.pushImage({ image: 'some', host: 'rack' })).rejects.toThrow('not https')
  })

  it('to a host that is not there says so', async () => {
    rig = await aRig()
    await expect(rig.client.images.pushImage({ image: 'some', host: 'nowhere' })).rejects.toThrow('no host')
  })
})
