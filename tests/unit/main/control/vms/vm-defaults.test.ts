import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { CreateVmRequestSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import {
  archsOf,
  checkFits,
  checkNetwork,
  chooseHost,
  chooseImage,
  type HostCandidate,
  NO_OPINION,
  withDefaults,
} from '../../../../../src/main/control/vms/vm-defaults.ts'
import { anImage, aStore, faultOf } from '../a-store.ts'

const host = (name: string, change: Partial<HostCandidate> = {}): HostCandidate => ({
  id: `id-${name}`,
  name,
  accepting: true,
  answering: true,
  arch: 'x86_64',
  ...change,
})
const request = (init: MessageInitShape<typeof CreateVmRequestSchema> = {}) => create(CreateVmRequestSchema, init)

describe('choice of host', () => {
  it('takes the one named, by name or id, however full', () => {
    const hosts = [host('a', { freeMemMb: 9999 }), host('b', { freeMemMb: 1, answering: false })]
    expect(chooseHost(hosts, 'b').name).toBe('b')
    expect(chooseHost(hosts, 'id-b').name).toBe('b')
  })

  it('refuses an unknown host, and one that is being removed', () => {
    expect(faultOf(() => chooseHost([host('a')], 'x')).code).toBe('host/not-found')
    expect(faultOf(() => chooseHost([host('a', { accepting: false })], 'a')).code).toBe('host/not-accepting')
    expect(faultOf(() => chooseHost([], '')).code).toBe('host/none')
  })

  it('takes the only one, answering or not', () => {
    expect(chooseHost([host('a', { answering: false })], '').name).toBe('a')
  })

  it('takes the one with most free memory among those that answer', () => {
    const hosts = [
      host('full', { freeMemMb: -512 }),
      host('silent', { freeMemMb: 99_999, answering: false }),
      host('leaving', { freeMemMb: 99_999, accepting: false }),
      host('roomy', { freeMemMb: 4096 }),
      host('untold'),
    ]
    expect(chooseHost(hosts, '').name).toBe('roomy')
  })

  it('takes one that serves the network, however little memory it has free', () => {
    const hosts = [host('roomy', { freeMemMb: 4096, networks: [] }), host('small', { freeMemMb: 1, networks: ['lan'] })]
    expect(chooseHost(hosts, '', { network: 'lan' }).name).toBe('small')
    expect(chooseHost(hosts, 'roomy', { network: 'lan' }).name).toBe('roomy')
    expect(chooseHost(hosts, '', { network: 'dmz' }).name).toBe('roomy')
  })

  it('takes one that can run the image, answering or not, before one that has room and cannot', () => {
    const hosts = [
      host('arm', { freeMemMb: 99_999, arch: 'aarch64' }),
      host('small', { freeMemMb: 1, answering: false }),
      host('silent', { freeMemMb: -1, arch: '', answering: false }),
    ]
    expect(chooseHost(hosts, '', { archs: ['x86_64'] }).name).toBe('small')
    expect(chooseHost(hosts, '', { archs: ['aarch64'] }).name).toBe('arm')
    expect(chooseHost([hosts[0]!], '', { archs: ['x86_64'] }).name).toBe('arm')
  })

  it('asks for what the image is for, or any that has a default', () => {
    const images = {
      resolve: () => anImage({ arch: 'aarch64' }),
      findDefault: (arch: string) => (arch === 'x86_64' ? anImage() : undefined),
    }
    expect(archsOf(request({ image: 'deb' }), images as never)).toEqual(['aarch64'])
    expect(archsOf(request(), images as never)).toEqual(['x86_64'])
    expect(archsOf(request({ imageUrl: 'https://a/b' }), images as never)).toEqual([])
  })
})

describe('choice of image', () => {
  it("takes the default of the host's architecture", () => {
    const { images } = aStore()
    const tiny = images.create(anImage({ name: 'tiny', defaultMemMb: 96 }))
    images.setDefault(tiny.id)
    expect(chooseImage(request(), images, host('a'))).toMatchObject({ sha256: tiny.sha256, defaults: { memMb: 96 } })
    expect(faultOf(() => chooseImage(request(), images, host('a', { arch: 'aarch64' })))).toMatchObject({
      code: 'image/none-default',
      params: { arch: 'aarch64' },
    })
  })

  it('takes one by name, and refuses one of another architecture', () => {
    const { images } = aStore()
    const arm = images.create(anImage({ name: 'arm', arch: 'aarch64' }))
    expect(chooseImage(request({ image: 'arm' }), images, host('a', { arch: 'aarch64' })).sha256).toBe(arm.sha256)
    expect(faultOf(() => chooseImage(request({ image: 'arm' }), images, host('a')))).toMatchObject({
      code: 'input/invalid',
      params: { field: 'image' },
    })
    expect(faultOf(() => chooseImage(request({ image: 'none' }), images, host('a'))).code).toBe('image/not-found')
  })

  it('defaults stand only where URL and digest are both empty', () => {
    const { images } = aStore()
    images.setDefault(images.create(anImage()).id)
    const given = request({ imageUrl: 'https://a.test/x.img', imageSha256: 'd'.repeat(64) })
    expect(chooseImage(given, images, host('a'))).toMatchObject({ url: 'https://a.test/x.img', kind: 'disk' })
  })
})

describe('defaults of a VM', () => {
  it('an empty name becomes sandbox- and six hex characters', () => {
    expect(withDefaults(request(), NO_OPINION).name).toMatch(/^sandbox-[0-9a-f]{6}$/)
  })

  it('zero and absent become the opinion of the image, else the defaults', () => {
    const image = { vcpus: 2, memMb: 96, diskGb: 0 }
    expect(withDefaults(request({ vcpus: 0, memMb: 128 }), image)).toMatchObject({ vcpus: 2, memMb: 128, diskGb: 10 })
    expect(withDefaults(request(), NO_OPINION)).toMatchObject({ vcpus: 1, memMb: 512, diskGb: 10, power: 'running' })
  })

  it.each([
    ['T33: only a URL', { imageUrl: 'https://a.test/x.img' }, 'image_sha256'],
    ['T33: only a digest', { imageSha256: 'd'.repeat(64) }, 'image_sha256'],
    ['DM-02: a digest that is none', { imageUrl: 'https://a.test/x', imageSha256: 'D'.repeat(64) }, 'image_sha256'],
    ['DM-01: a name like an option', { name: '-rf' }, 'name'],
    ['DM-01: a name like a command', { name: '$(id)' }, 'name'],
    ['DM-01: a name of 64 characters', { name: 'a'.repeat(64) }, 'name'],
    ['an unknown power', { power: 'paused' }, 'power'],
    ['an unknown backend', { backend: 'xen' }, 'backend'],
    ['an id that is none', { vmId: 'xyz' }, 'vm_id'],
  ])('refuses %s', (_, init, field) => {
    const fault = faultOf(() => withDefaults(request(init), NO_OPINION))
    expect(fault).toMatchObject({ code: 'input/invalid', params: { field } })
  })

  it('refuses a network the host is known not to serve', () => {
    expect(faultOf(() => checkNetwork('lan', host('a', { networks: ['office'] })))).toMatchObject({
      code: 'vm/network-unknown',
      params: { host: 'a', network: 'lan', has: 'office' },
    })
    checkNetwork('office', host('a', { networks: ['office'] }))
    checkNetwork('', host('a', { networks: [] }))
    checkNetwork('lan', host('never-connected'))
  })
})

describe('what a host can never give', () => {
  const vm = { name: 'web', vcpus: 2, memMb: 512, backend: '' }
  const rack = host('rack', { capacity: { vcpus: 4, memMb: 8192 }, backend: 'qemu' })

  it('is refused with the numbers', () => {
    expect(faultOf(() => checkFits({ ...vm, memMb: 8193 }, rack))).toMatchObject({
      code: 'vm/too-large',
      params: { host: 'rack', what: 'memory', wanted: '8193 MiB', has: '8192 MiB' },
    })
    expect(faultOf(() => checkFits({ ...vm, vcpus: 33 }, rack))).toMatchObject({
      code: 'vm/too-large',
      params: { what: 'processors', wanted: '33', has: '4', most: '32' },
    })
    expect(faultOf(() => checkFits({ ...vm, backend: 'cloud-hypervisor' }, rack))).toMatchObject({
      code: 'vmm/missing',
      params: { host: 'rack', backend: 'cloud-hypervisor', has: 'qemu' },
    })
  })

  it('is all that is refused: what fits alone may wait for room, and what nobody told is not judged', () => {
    for (const change of [{ memMb: 8192 }, { vcpus: 32 }, { backend: 'qemu' }]) checkFits({ ...vm, ...change }, rack)
    checkFits({ ...vm, vcpus: 256, memMb: 4_000_000, backend: 'vfkit' }, host('new'))
  })
})
