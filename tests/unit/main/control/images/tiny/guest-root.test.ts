import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cpioArchive, type RootEntry } from '../../../../../../src/main/control/images/tiny/cpio.ts'
import { choosePackages } from '../../../../../../src/main/control/images/tiny/debian-packages.ts'
import { librariesOf, skeleton } from '../../../../../../src/main/control/images/tiny/guest-root.ts'
import { writeTar } from '../../../../../../src/main/control/images/tiny/image-tar.ts'
import { loadOrder, readModinfo } from '../../../../../../src/main/control/images/tiny/kernel-modules.ts'
import { tinyPossible } from '../../../../../../src/main/control/images/tiny/tiny-possible.ts'

const ENTRIES: RootEntry[] = [
  { kind: 'symlink', path: 'init', mode: 0o777, target: 'bin/busybox' },
  { kind: 'directory', path: 'bin', mode: 0o755 },
  { kind: 'file', path: 'bin/busybox', mode: 0o755, content: Buffer.from('odd') },
]

describe('initramfs archive', () => {
  it('holds the same bytes whatever the order of its entries', () => {
    expect(cpioArchive([...ENTRIES].reverse())).toEqual(cpioArchive(ENTRIES))
  })

  it('puts a folder before what is in it and ends with the trailer on a boundary of four', () => {
    const archive = cpioArchive(ENTRIES).toString('latin1')
    const places = ['bin\0', 'bin/busybox\0', 'init\0', 'TRAILER!!!\0'].map((name) => archive.indexOf(name))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(archive.length % 4).toBe(0)
  })

  it('links every program folder to one and starts busybox as init', () => {
    const links = new Map(skeleton().flatMap((e) => (e.kind === 'symlink' ? [[e.path, e.target] as const] : [])))
    expect(links.get('init')).toBe('bin/busybox')
    expect(links.get('usr/sbin')).toBe('../bin')
  })
})

describe('kernel modules', () => {
  const modinfo = (name: string, depends: string) =>
    Buffer.from(`\x7fELF..\0license=GPL\0depends=${depends}\0name=${name}\0`)

  it('say their name and what they depend on', () => {
    expect(readModinfo(modinfo('virtio-rng', 'virtio,rng-core'))).toEqual({
      name: 'virtio_rng',
      depends: ['virtio', 'rng_core'],
    })
    expect(readModinfo(Buffer.from('text'))).toBeUndefined()
  })

  it('load after what they depend on, once each, without those built in', () => {
    const graph: Record<string, string[]> = { a: ['b', 'c'], b: ['c', 'built_in'], c: [] }
    const find = (name: string) => (graph[name] ? { name, depends: graph[name] } : undefined)
    expect(loadOrder(['a', 'c'], find)).toEqual(['c', 'b', 'a'])
  })

  it('that depend on each other do not hang the build', () => {
    expect(loadOrder(['a'], (name) => ({ name, depends: [name === 'a' ? 'b' : 'a'] }))).toEqual(['b', 'a'])
  })
})

describe('packages', () => {
  const DEPENDS = `linux-image-cloud-amd64
  Depends: linux-image-6.1.0-57-cloud-amd64
linux-image-6.1.0-57-cloud-amd64
  Depends: kmod
openssh-server
 |Depends: debconf
  Depends: libpam-modules
  Depends: libssl3
  Depends: openssh-client
openssh-client
  PreDepends: passwd
  Depends: zlib1g
busybox-static
libssl3
  Depends: libc6
zlib1g
libc6
  Depends: libgcc-s1
libgcc-s1
`

  it('are the newest kernel, the programs and the shared libraries they reach, and nothing else', () => {
    expect(choosePackages(DEPENDS)).toEqual({
      kernel: 'linux-image-6.1.0-57-cloud-amd64',
      programs: ['busybox-static', 'libc6', 'libgcc-s1', 'libssl3', 'openssh-client', 'openssh-server', 'zlib1g'],
    })
  })

  it('name no kernel where apt knows none', () => {
    expect(choosePackages('N: Unable to locate package').kernel).toBeUndefined()
  })

  it('must bring every library a program asks for', () => {
    const listing =
      '\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /r/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 => /r/ld.so (0x3)\n'
    expect(librariesOf(listing)).toEqual(['/r/libc.so.6'])
    expect(() => librariesOf('\tlibx.so.1 => not found\n')).toThrow(/libx\.so\.1/)
  })
})

describe('image file', () => {
  it('is a tar that tar reads, with the digest of its bytes', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'eitri-tar-'))
    try {
      const file = join(dir, 'image.tar')
      const contents = { vmlinux: Buffer.alloc(1500, 1), initrd: Buffer.alloc(512, 2), cmdline: Buffer.from('quiet') }
      const { sha256, sizeBytes } = await writeTar(
        file,
        Object.entries(contents).map(([name, content]) => ({ name, content })),
      )
      const listing = execFileSync('tar', ['-xvf', file, '-C', dir], { encoding: 'utf8' })
      expect(listing.trim().split('\n')).toEqual(['vmlinux', 'initrd', 'cmdline'])
      for (const [name, content] of Object.entries(contents)) expect(readFileSync(join(dir, name))).toEqual(content)
      expect(execFileSync('sha256sum', [file], { encoding: 'utf8' }).slice(0, 64)).toBe(sha256)
      expect(readFileSync(file)).toHaveLength(sizeBytes)
      writeFileSync(join(dir, 'taken'), '')
      await expect(writeTar(join(dir, 'taken'), [])).rejects.toThrow(/EEXIST/)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })
})

describe('where the tiny image can be built', () => {
  const debian = { osRelease: () => 'NAME="Debian"\nID=debian\nVERSION_ID="12"\n', hasTool: () => true }
  const linux = { platform: 'linux', arch: 'x64' } as const

  it('is Debian x86_64 with apt', () => {
    expect(tinyPossible(linux, debian)).toEqual({ possible: true, detail: '' })
  })

  it.each([
    ['another system', { platform: 'darwin', arch: 'arm64' } as const, debian, /darwin arm64/],
    ['another distribution', linux, { ...debian, osRelease: () => 'ID="fedora"\n' }, /fedora/],
    ['no os-release', linux, { ...debian, osRelease: () => '' }, /unknown Linux/],
    ['no apt', linux, { ...debian, hasTool: (name: string) => name !== 'apt-get' }, /apt-get missing/],
  ])('is not %s, and the reason is named', (_, ports, host, detail) => {
    const answer = tinyPossible(ports, host)
    expect(answer.possible).toBe(false)
    expect(answer.detail).toMatch(detail)
  })
})
