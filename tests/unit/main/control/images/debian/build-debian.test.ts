import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tellingWords } from '../../../../../../src/main/control/images/command.ts'
import { bootSector } from '../../../../../../src/main/control/images/debian/bootable-disk.ts'
import { progressOf } from '../../../../../../src/main/control/images/debian/build-debian.ts'
import { type DebianHost, debianPossible } from '../../../../../../src/main/control/images/debian/debian-possible.ts'
import { debianSources } from '../../../../../../src/main/control/images/debian/debian-sources.ts'
import { mmdebstrapArguments, packageNames } from '../../../../../../src/main/control/images/debian/install-packages.ts'

const ASSETS = join(import.meta.dirname, '../../../../../../assets/debian')
const packages = packageNames(readFileSync(join(ASSETS, 'packages'), 'utf8'))

describe('where a Debian image can be built', () => {
  const host: DebianHost = {
    platform: 'linux',
    arch: 'x64',
    osRelease: () => 'NAME="Debian"\nID=debian\n',
    exists: () => true,
    root: true,
    subordinateIds: () => false,
  }
  const without = (...names: string[]) => ({
    exists: (path: string) => !names.some((name) => path.endsWith(`/${name}`)),
  })

  it('is Debian x86_64 with the tools, as root and as anybody with user ids of his own', () => {
    expect(debianPossible(host)).toEqual({ possible: true, detail: '' })
    expect(debianPossible({ ...host, root: false, subordinateIds: () => true })).toEqual({ possible: true, detail: '' })
  })

  it.each<[string, Partial<DebianHost>, RegExp]>([
    ['another system', { platform: 'darwin', arch: 'arm64' }, /darwin arm64/],
    ['another distribution', { osRelease: () => 'ID=ubuntu\n' }, /ubuntu/],
    ['without the tools', without('mmdebstrap', 'boot.img'), /apt-get install mmdebstrap grub-pc-bin$/],
    [
      'without fakeroot for who is not root',
      { ...without('fakeroot'), root: false, subordinateIds: () => true },
      /fakeroot$/,
    ],
    [
      'without newuidmap',
      { ...without('newuidmap', 'fakechroot'), root: false, subordinateIds: () => true },
      /uidmap$/,
    ],
    ['without ids of his own or fakechroot', { ...without('fakechroot'), root: false }, /fakechroot$/],
  ])('is not %s, and what is missing is named', (_, change, detail) => {
    const answer = debianPossible({ ...host, ...change })
    expect(answer.possible).toBe(false)
    expect(answer.detail).toMatch(detail)
  })
})

describe('the packages of a Debian image', () => {
  it('come from this computer’s own mirrors of that suite, else from Debian’s', () => {
    expect(debianSources('http://mirror.example/debian/ trixie main Debian\n')).toEqual([
      'deb http://deb.debian.org/debian bookworm main',
      'deb http://deb.debian.org/debian bookworm-updates main',
      'deb http://deb.debian.org/debian-security bookworm-security main',
    ])
    const own = [
      'http://mirror.example/debian/ bookworm main Debian',
      'http://mirror.example/debian/ bookworm contrib Debian',
      'http://mirror.example/security/ bookworm-security main Debian',
      'https://tools.example/apt/ bookworm main Tools',
    ]
    expect(debianSources(own.join('\n'))).toEqual([
      'deb http://mirror.example/debian bookworm main',
      'deb http://mirror.example/debian bookworm-updates main',
      'deb http://mirror.example/security bookworm-security main',
    ])
  })

  it('have all that the fleet’s part of a seed needs in a guest', () => {
    const needed = 'cloud-init openssh-server chrony qemu-guest-agent fdisk e2fsprogs util-linux util-linux-extra'
    expect(packages).toEqual(expect.arrayContaining(needed.split(' ')))
  })

  it('are given to mmdebstrap as one list, and every option is one word', () => {
    const args = mmdebstrapArguments(packages, ['deb http://a b main'], ['Acquire::http::Proxy "http://p:1";'])
    expect(args).toContain(`--include=${packages.join(',')}`)
    expect(args).toContain('--aptopt=Acquire::http::Proxy "http://p:1";')
    expect(args.slice(-3)).toEqual(['bookworm', 'tree.tar', 'deb http://a b main'])
  })

  it('are told of one by one while they come', () => {
    expect(progressOf('Get:7 http://deb.debian.org/debian bookworm/main amd64 chrony amd64 4.3-2 [287 kB]')).toBe(
      'chrony',
    )
    expect(progressOf('Setting up cloud-init (22.4.2-1+deb12u3) ...')).toBe('Setting up cloud-init')
    expect(progressOf('(Reading database ... 5%')).toBeUndefined()
  })
})

describe('what a failed build says', () => {
  it.each([
    [
      'the first errors',
      'I: one\nE: cannot fetch a\nW: careful\nE: cannot fetch b\nE: c\n',
      'E: cannot fetch a E: cannot fetch b',
    ],
    ['else the last words', 'one\ntwo\nW: careful\nthree\n', 'two three'],
    ['else nothing', 'I: one\n', ''],
  ])('is %s', (_, stderr, words) => {
    expect(tellingWords(stderr)).toBe(words)
  })
})

describe('the first sector of a disk', () => {
  it('has the boot code, a signature and one partition up to the end', () => {
    const sector = bootSector(Buffer.alloc(512, 0xab), Buffer.from('0102'), 64 << 20)
    expect(sector.subarray(0, 440).every((byte) => byte === 0xab)).toBe(true)
    expect(sector.subarray(440, 446)).toEqual(Buffer.from('0102\0\0'))
    expect([sector[446], sector[450], sector.readUInt32LE(454)]).toEqual([0x80, 0x83, 2048])
    expect(sector.readUInt32LE(454) + sector.readUInt32LE(458)).toBe((64 << 20) / 512)
    expect(sector.subarray(462, 510).every((byte) => byte === 0)).toBe(true)
    expect(sector.readUInt16BE(510)).toBe(0x55aa)
  })
})
