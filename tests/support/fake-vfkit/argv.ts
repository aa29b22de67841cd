import { closeSync, existsSync, openSync, readSync } from 'node:fs'

/** What vfkit understood of its command line. */
export interface FakeMachine {
  vcpus: number
  memoryBytes: number
  bootloader: { kind: string; [option: string]: unknown }
  devices: { kind: string; [option: string]: unknown }[]
  restSocket: string
  pidfile: string
}

/** Refused as vfkit does: text on stderr, exit code 1. */
export class Refused extends Error {}

const FLAGS = ['cpus', 'memory', 'bootloader', 'device', 'restful-uri', 'pidfile', 'log-level'] as const
const SOCKET_PATH_LIMIT = 103

/** Reads the options that vfkit documents and this peer plays; anything else is refused, as vfkit refuses a typo. */
export function readArgv(argv: readonly string[], arch: string): FakeMachine {
  const values = new Map<string, string[]>()
  for (let i = 0; i < argv.length; i += 2) {
    const [flag, value] = [argv[i]!.replace(/^--/, ''), argv[i + 1]]
    if (!argv[i]!.startsWith('--') || !FLAGS.some((known) => known === flag))
      throw new Refused(`unknown flag: ${argv[i]}`)
    if (value === undefined) throw new Refused(`flag needs an argument: ${argv[i]}`)
    values.set(flag, [...(values.get(flag) ?? []), value])
  }
  const one = (flag: (typeof FLAGS)[number]) => values.get(flag)?.at(-1) ?? ''
  return {
    vcpus: count('cpus', one('cpus')),
    memoryBytes: count('memory', one('memory')) * 1024 * 1024,
    bootloader: bootloader(split(one('bootloader')), arch),
    devices: (values.get('device') ?? []).map((text) => device(text.split(','))),
    restSocket: restSocket(one('restful-uri')),
    pidfile: one('pidfile'),
  }
}

function bootloader([kind, ...options]: string[], arch: string): FakeMachine['bootloader'] {
  const given = optionsOf(options)
  if (kind === 'efi') {
    only('EFI bootloaders', given, ['variable-store', 'create'])
    if (!given.get('variable-store')) throw new Refused('missing EFI store path')
    const create = given.has('create')
    if (create && given.get('create') !== '') throw new Refused("unexpected value for EFI bootloader 'create' option")
    return { kind: 'efiBootloader', efiVariableStorePath: given.get('variable-store'), createVariableStore: create }
  }
  if (kind !== 'linux') throw new Refused(`unknown bootloader type: ${kind}`)
  only('Linux bootloaders', given, ['kernel', 'initrd', 'cmdline'])
  const [kernel = '', initrd = '', cmdline = ''] = ['kernel', 'initrd', 'cmdline'].map((key) => given.get(key))
  if (!existsSync(kernel) || !existsSync(initrd)) throw new Refused(`open ${kernel}: no such file or directory`)
  if (arch === 'arm64' && head(kernel, 0x40).toString('latin1', 0x38, 0x3c) !== 'ARMd')
    throw new Refused(`kernel must be uncompressed, ${kernel} is a compressed file`)
  return {
    kind: 'linuxBootloader',
    vmlinuzPath: kernel,
    initrdPath: initrd,
    kernelCmdLine: cmdline.replace(/^"|"$/g, ''),
  }
}

function device([kind, ...options]: string[]): FakeMachine['devices'][number] {
  const given = optionsOf(options)
  switch (kind) {
    case 'virtio-blk': {
      only('virtio-blk devices', given, ['path', 'deviceId', 'type'])
      const path = given.get('path') ?? ''
      if (!existsSync(path)) throw new Refused(`failed to open file ${path}: no such file or directory`)
      if (head(path, 4).toString('latin1') === 'QFI\xfb') throw new Refused('vfkit does not support qcow2 image format')
      return { kind: 'virtioblk', devName: 'virtio-blk', imagePath: path }
    }
    case 'virtio-net': {
      only('virtio-net devices', given, ['nat', 'mac'])
      if (!given.has('nat')) throw new Refused("one of 'nat' or 'fd' or 'unixSocketPath' must be set")
      const mac = given.get('mac') ?? ''
      if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(mac)) throw new Refused(`address ${mac}: invalid MAC address`)
      return { kind: 'virtionet', nat: true, macAddress: mac }
    }
    case 'virtio-serial':
      only('virtio-serial devices', given, ['pty'])
      if (!given.has('pty')) throw new Refused("one of 'logFilePath', 'stdio' or 'pty' must be set")
      return { kind: 'virtioserial', usesPty: true }
    case 'virtio-rng':
      only('virtio-rng devices', given, [])
      return { kind: 'virtiorng' }
    default:
      throw new Refused(`unknown device type: ${kind}`)
  }
}

function restSocket(uri: string): string {
  const [, path] = /^unix:\/\/(\/.*)$/.exec(uri) ?? []
  if (path === undefined) throw new Refused(`invalid unix uri: ${uri}`)
  const decoded = decodeURIComponent(path)
  if (Buffer.byteLength(decoded) > SOCKET_PATH_LIMIT)
    throw new Refused('invalid unix uri: socket path length exceeds macOS limits')
  return decoded
}

/** Commas separate but for those between quotes, as in vfkit's own splitter. */
const split = (text: string): string[] => text.match(/(?:[^,"]|"[^"]*")+/g) ?? []

const optionsOf = (options: string[]): Map<string, string> =>
  new Map(options.map((text) => [text.split('=', 1)[0]!, text.includes('=') ? text.slice(text.indexOf('=') + 1) : '']))

function only(what: string, given: Map<string, string>, known: string[]): void {
  for (const key of given.keys()) if (!known.includes(key)) throw new Refused(`unknown option for ${what}: ${key}`)
}

function count(flag: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Refused(`invalid argument "${text}" for "--${flag}" flag`)
  return Number(text)
}

function head(path: string, length: number): Buffer {
  const fd = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(length)
    readSync(fd, bytes, 0, length, 0)
    return bytes
  } finally {
    closeSync(fd)
  }
}
