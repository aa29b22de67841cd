import { describe, expect, it } from 'vitest'
import { aHost, anImage, aStore, aVm, faultOf } from '../a-store.ts'

describe('images store', () => {
  it('finds by name, id and digest, and refuses a taken name', () => {
    const { images } = aStore()
    const image = images.create(anImage({ name: 'debian-12' }))
    expect(images.resolve('debian-12')).toEqual(image)
    expect(images.resolve(image.id)).toEqual(image)
    expect(images.findBySha256(image.sha256)).toEqual(image)
    expect(faultOf(() => images.create(anImage({ name: 'debian-12' })))).toMatchObject({ code: 'image/name-taken' })
    expect(faultOf(() => images.resolve('none')).code).toBe('image/not-found')
  })

  it('has at most one default per architecture', () => {
    const { images } = aStore()
    const [a, b] = [images.create(anImage()), images.create(anImage())]
    const arm = images.create(anImage({ arch: 'aarch64' }))
    for (const image of [a, arm, b]) images.setDefault(image.id)
    expect(images.findDefault('x86_64')?.id).toBe(b.id)
    expect(images.findDefault('aarch64')?.id).toBe(arm.id)
    expect(images.list().filter((image) => image.isDefault)).toHaveLength(2)
  })

  it('keeps the format an image was declared to have, and a VM the one its image had then', () => {
    const { hosts, vms, images } = aStore()
    const image = images.create(anImage({ format: 'qcow2' }))
    expect(images.resolve(image.id).format).toBe('qcow2')
    expect(images.replace({ ...image, format: 'raw' }).format).toBe('raw')
    const vm = vms.create(aVm(hosts.create(aHost()).id, { imageFormat: 'qcow2' }))
    expect(vms.find(vm.id)?.imageFormat).toBe('qcow2')
  })

  it('keeps an image while a VM needs it, quarantined ones too', () => {
    const { hosts, vms, images } = aStore()
    const host = hosts.create(aHost())
    const image = images.create(anImage())
    const vm = vms.create(aVm(host.id, { name: 'web', imageSha256: image.sha256 }))
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    expect(faultOf(() => images.remove('default', image.id))).toMatchObject({
      code: 'image/in-use',
      params: { vms: 'web' },
    })
    vms.reap(host.id, [vm.id])
    images.remove('default', image.id)
    expect(images.list()).toEqual([])
  })

  it('keeps id and default through a rebuild, and learns a size once', () => {
    const { images } = aStore()
    const image = images.setDefault(images.create(anImage()).id)
    const rebuilt = images.replace({ ...image, sha256: 'c'.repeat(64) })
    expect(rebuilt).toMatchObject({ id: image.id, isDefault: true, sha256: 'c'.repeat(64) })
    images.setSize(rebuilt.sha256, 7)
    images.setSize(rebuilt.sha256, 9)
    expect(images.resolve(image.id).sizeBytes).toBe(7)
  })
})
