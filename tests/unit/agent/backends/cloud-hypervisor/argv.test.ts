import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chCommand } from '../../../../../src/agent/backends/cloud-hypervisor/argv.ts'
import { createArgv } from '../../../../../src/agent/backends/cloud-hypervisor/ch-disk.ts'
import { endingOf, parseEvents } from '../../../../../src/agent/backends/cloud-hypervisor/event-log.ts'
import { failureReasonOf } from '../../../../../src/agent/backends/cloud-hypervisor/failure-reason.ts'
import { vmConfig } from '../../../../../src/agent/backends/cloud-hypervisor/vm-config.ts'
import { OpenApiCheck } from '../../../../support/cloud-hypervisor/openapi-check.ts'

const ID = '0123456789abcdef0123456789abcdef'
const files = {
  apiSocketName: 'api.sock',
  serialSocketName: 'serial.sock',
  events: 'events.log',
  disk: 'disk.raw',
  seed: 'seed.iso',
}
const disk = { kind: 'disk', file: '/images/x', format: 'qcow2', virtualBytes: 512 } as const
const kernel = { kind: 'kernel', kernel: '/k/kernel', initrd: '/k/initrd', cmdline: 'console=ttyS0' } as const
const config = (image: typeof disk | typeof kernel = disk) =>
  vmConfig(
    {
      vmId: ID,
      vcpus: 2,
      memMb: 96,
      net: [{ mac: '52:54:00:01:02:03', tap: 'eitri-123456789' }],
      image,
      firmware: '/f/CLOUDHV.fd',
    },
    files,
  )
const contract = new OpenApiCheck(join(import.meta.dirname, '../../../../support/cloud-hypervisor/openapi.yaml'))

describe("cloud-hypervisor's command line", () => {
  it('starts a VMM without a VM, with paths short enough for any state directory', () => {
    expect(chCommand('/opt/ch', files).flatMap(({ args }) => args)).toEqual([
      '/opt/ch',
      '--api-socket',
      'path=api.sock',
      '--event-monitor',
      'path=events.log',
    ])
  })

  it('says of every part what it is for', () => {
    for (const { why } of chCommand('ch', files)) expect(why).toMatch(/^[a-z]/)
  })
})

describe('the VM cloud-hypervisor is told to make', () => {
  it.each([
    ['a disk image', disk],
    ['a kernel image', kernel],
  ])('keeps to the published contract for %s', (_name, image) => {
    expect(contract.request('PUT', 'vm.create', JSON.stringify(config(image)))).toEqual({ known: true, problem: '' })
  })

  it('has the root disk first and the seed second, read-only, both named as raw', () => {
    expect(config().disks).toEqual([
      { id: 'root', path: 'disk.raw', image_type: 'Raw', readonly: false },
      { id: 'seed', path: 'seed.iso', image_type: 'Raw', readonly: true },
    ])
  })

  it('boots a disk by firmware and a kernel by itself', () => {
    expect(config().payload).toEqual({ firmware: '/f/CLOUDHV.fd' })
    expect(config(kernel).payload).toEqual({ kernel: '/k/kernel', initramfs: '/k/initrd', cmdline: 'console=ttyS0' })
  })

  it('has its memory in bytes, and shared with nobody', () => {
    expect(config().memory).toEqual({ size: 96 * 1024 * 1024 })
  })

  it('has its serial port on a socket, no second console, and a device that tells of a panic', () => {
    expect(config()).toMatchObject({
      serial: { mode: 'Socket', socket: 'serial.sock' },
      console: { mode: 'Off' },
      pvpanic: true,
    })
  })

  it('has the VM id as its machine id, and its NIC on the tap of the host', () => {
    expect(config().platform.system_uuid).toBe('01234567-89ab-cdef-0123-456789abcdef')
    expect(config().net).toEqual([{ id: 'net0', tap: 'eitri-123456789', mac: '52:54:00:01:02:03' }])
  })
})

describe('the contract the peer holds requests to', () => {
  const change = (path: (value: any) => void) => {
    const value = structuredClone(config()) as any
    path(value)
    return contract.request('PUT', 'vm.create', JSON.stringify(value)).problem
  }
  it.each([
    ['an unknown field', (v: any) => Object.assign(v, { bios: 1 }), 'body: unknown field bios'],
    [
      'an unknown field deep down',
      (v: any) => Object.assign(v.disks[1], { ro: true }),
      'body.disks[1]: unknown field ro',
    ],
    ['a missing field', (v: any) => void delete v.payload, 'body: missing field payload'],
    [
      'a field of another type',
      (v: any) => Object.assign(v.memory, { size: '1G' }),
      'body.memory.size: no whole number',
    ],
    ['a word that is none of its values', (v: any) => Object.assign(v.serial, { mode: 'socket' }), 'is not one of'],
    ['a number below its least', (v: any) => Object.assign(v.cpus, { boot_vcpus: 0 }), 'too small'],
  ])('refuses %s', (_what, edit, problem) => {
    expect(change(edit)).toContain(problem)
  })

  it('refuses a body where none belongs, none where one does, and an endpoint or a method it does not know', () => {
    expect(contract.request('PUT', 'vm.boot', '{}').problem).toBe('a body where none belongs')
    expect(contract.request('PUT', 'vm.create', '').problem).toBe('no body')
    expect(contract.request('PUT', 'vm.start', '').known).toBe(false)
    expect(contract.request('GET', 'vm.boot', '').known).toBe(false)
  })
})

describe('the first disk of a guest', () => {
  it('is the image as raw, whatever its format, or an empty one for a kernel', () => {
    expect(createArgv(disk, 't', 4)).toEqual(['convert', '-q', '-f', 'qcow2', '-O', 'raw', '/images/x', 't'])
    expect(createArgv(kernel, 't', 4)).toEqual(['create', '-q', '-f', 'raw', 't', '4G'])
  })
})

it.each([
  [
    'the error chain it printed at its end, in one line',
    'cloud-hypervisor: 1.2ms: <vmm> ERROR:vmm/src/lib.rs:9 -- noise\nError: Cloud Hypervisor exited with the following chain of errors:\n  0: Failed to start API server\n  1: Address in use (os error 98)\n',
    'Failed to start API server: Address in use (os error 98)',
  ],
  [
    'its last logged error when there is no chain',
    'cloud-hypervisor: 1.2ms: <vmm> ERROR:vmm/src/lib.rs:9 -- Cannot open tap\ncloud-hypervisor: 1.3ms: <vmm> INFO:x.rs:1 -- bye\n',
    'Cannot open tap',
  ],
  ['a line of another program as it is', 'cannot allocate memory\n', 'cannot allocate memory'],
  ['nothing for warnings and notes alone', 'cloud-hypervisor: 1.2ms: <vmm> WARN:a.rs:1 -- slow\n', ''],
  ['nothing for nothing', '', ''],
])('the reason of a failure is %s', (_what, log, reason) => {
  expect(failureReasonOf(log)).toBe(reason)
})

describe('the events of a guest', () => {
  const log = (...events: [string, string][]) =>
    events.map(([source, event]) => `${JSON.stringify({ source, event, properties: null }, null, 2)}\n\n`).join('')

  it('tell that it powered itself off', () => {
    expect(endingOf(parseEvents(log(['vm', 'booted'], ['vm', 'shutdown'], ['vmm', 'shutdown'])))).toBe('powered-off')
  })

  it('tell of a panic before the end it leads to', () => {
    expect(endingOf(parseEvents(log(['vm', 'booted'], ['guest', 'panic'], ['vm', 'shutdown'])))).toBe('panicked')
  })

  it('tell nothing of a killed process, nor of what was before the last boot', () => {
    expect(endingOf(parseEvents(log(['vm', 'booted'])))).toBe('')
    expect(endingOf(parseEvents(log(['vm', 'shutdown'], ['vm', 'booted'])))).toBe('')
  })

  it('are read from a log whose ends are torn', () => {
    const text = log(['vm', 'booting'], ['vm', 'booted'], ['vm', 'shutdown'])
    const torn = `${text.slice(7)}{"source": "vm`
    expect(parseEvents(torn).map(({ event }) => event)).toEqual(['booted', 'shutdown'])
  })
})
