import { describe, expect, it } from 'vitest'
import { SOCKET_PATH_LIMIT, vfkitArgv } from '../../../../../src/agent/backends/vfkit/argv.ts'
import { failureReasonOf } from '../../../../../src/agent/backends/vfkit/failure-reason.ts'

const disk = { kind: 'disk', file: '/images/x', format: 'raw', virtualBytes: 512 } as const
const kernel = { kind: 'kernel', kernel: '/k/kernel', initrd: '/k/initrd', cmdline: 'quiet panic=1' } as const
const files = {
  disk: '/vms/a/disk.raw',
  seed: '/vms/a/seed.iso',
  variableStore: '/vms/a/efi-variables',
  restSocket: '/s/a',
  pidfile: '/vms/a/vfkit.pid',
}
const machine = (change = {}) => ({
  vcpus: 2,
  memMb: 512,
  mac: '52:54:00:01:02:03',
  image: disk,
  createVariableStore: false,
  ...change,
})
const argv = (change = {}, place = {}) =>
  vfkitArgv('vfkit', machine(change), { ...files, ...place }).flatMap(({ args }) => args)
const optionOf = (args: string[], flag: string) => args[args.indexOf(flag) + 1]
const devices = (args: string[]) => args.filter((_, i) => args[i - 1] === '--device')

describe("vfkit's command line", () => {
  it('is the whole machine, every option with what it is for', () => {
    expect(argv()).toEqual([
      ...['vfkit', '--cpus', '2', '--memory', '512'],
      ...['--bootloader', 'efi,variable-store=/vms/a/efi-variables'],
      ...['--device', 'virtio-blk,path=/vms/a/disk.raw', '--device', 'virtio-blk,path=/vms/a/seed.iso'],
      ...['--device', 'virtio-net,nat,mac=52:54:00:01:02:03', '--device', 'virtio-serial,pty'],
      ...['--device', 'virtio-rng', '--restful-uri', 'unix:///s/a', '--pidfile', '/vms/a/vfkit.pid'],
    ])
    for (const { why } of vfkitArgv('vfkit', machine(), files)) expect(why).not.toBe('')
  })

  it('has the root disk first and the seed second', () => {
    expect(devices(argv()).slice(0, 2)).toEqual(['virtio-blk,path=/vms/a/disk.raw', 'virtio-blk,path=/vms/a/seed.iso'])
  })

  it('creates the variable store only when told to, because vfkit empties one that is there', () => {
    expect(optionOf(argv({ createVariableStore: true }), '--bootloader')).toMatch(/,create$/)
    expect(optionOf(argv(), '--bootloader')).not.toContain('create')
  })

  it('boots a kernel image without EFI, its command line in quotes and its console on hvc0', () => {
    expect(optionOf(argv({ image: kernel }), '--bootloader')).toBe(
      'linux,kernel=/k/kernel,initrd=/k/initrd,cmdline="quiet panic=1 console=hvc0"',
    )
    for (const cmdline of ['console=hvc0', 'console=ttyAMA0 console=hvc0 quiet'])
      expect(optionOf(argv({ image: { ...kernel, cmdline } }), '--bootloader')).toContain(`cmdline="${cmdline}"`)
  })

  it.each([
    ['a comma in a path', {}, { disk: '/vms/a,b/disk.raw' }, 'comma'],
    ['a quote in a path', {}, { variableStore: '/vms/"/efi' }, 'quote'],
    ['a quote in a kernel command line', { image: { ...kernel, cmdline: 'x="1"' } }, {}, 'quote'],
    ['a socket path no socket address holds', {}, { restSocket: `/${'x'.repeat(SOCKET_PATH_LIMIT)}` }, '--state-dir'],
  ])('refuses %s for good, in words', (_why, change, place, words) => {
    expect(() => argv(change, place)).toThrow(expect.objectContaining({ code: 'vmm/failed', disposition: 'permanent' }))
    expect(() => argv(change, place)).toThrow(words)
  })

  it('takes the longest socket path there is, and escapes what a URL would read as its own', () => {
    const longest = `/${'x'.repeat(SOCKET_PATH_LIMIT - 1)}`
    expect(optionOf(argv({}, { restSocket: longest }), '--restful-uri')).toBe(`unix://${longest}`)
    expect(optionOf(argv({}, { restSocket: '/App Support/50%?' }), '--restful-uri')).toBe(
      'unix:///App%20Support/50%25%3F',
    )
  })
})

it.each([
  [
    'the last line its command line parser says',
    'Error: bad flag\nUsage:\n  vfkit [flags]\n\nFlags:\n  -c\n\nbad flag\n',
    'bad flag',
  ],
  [
    'an error its logger says',
    'time="t" level=info msg="x"\ntime="t" level=error msg="no \\"disk\\" here"\n',
    'no "disk" here',
  ],
  [
    'nothing for what it says of itself',
    'time="t" level=info msg="virtual machine is running"\n[GIN] 2026/01/01 GET\n',
    '',
  ],
  ['nothing for a told end', '2026/01/01 10:00:00 captured terminated, calling exit handlers and exiting..\n', ''],
  ['nothing for nothing', '', ''],
])('the reason of a failure is %s', (_why, log, reason) => {
  expect(failureReasonOf(log)).toBe(reason)
})
