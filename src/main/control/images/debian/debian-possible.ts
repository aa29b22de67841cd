import { existsSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'

export interface DebianPossible {
  possible: boolean
  /** Why not, and what brings what is missing; empty when possible. */
  detail: string
}

/** What is asked of this computer; a test lies here. */
export interface DebianHost {
  platform: NodeJS.Platform
  arch: NodeJS.Architecture
  osRelease(): string
  exists(path: string): boolean
  root: boolean
  /** Whether this user may have a range of user ids for a namespace. */
  subordinateIds(): boolean
}

const read = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')

/** This computer, as this process may use it. */
export const thisDebianHost = (ports: { platform: NodeJS.Platform; arch: NodeJS.Architecture }): DebianHost => ({
  platform: ports.platform,
  arch: ports.arch,
  osRelease: () => read('/etc/os-release'),
  exists: existsSync,
  root: process.getuid?.() === 0,
  subordinateIds: () => ['/etc/subuid', '/etc/subgid'].every((file) => read(file).includes(`${userInfo().username}:`)),
})

/** Program, and the package that brings it. */
const TOOLS: Record<string, string> = {
  'apt-get': 'apt',
  mmdebstrap: 'mmdebstrap',
  mke2fs: 'e2fsprogs',
  'grub-mkimage': 'grub-common',
  'qemu-img': 'qemu-utils',
  tar: 'tar',
}
const BOOT_CODE = '/usr/lib/grub/i386-pc/boot.img'
const PROGRAM_DIRS = ['/usr/bin', '/usr/sbin', '/bin', '/sbin']

/** Whether a Debian image can be built here; cheap enough to ask for every catalogue answer. */
export function debianPossible(host: DebianHost): DebianPossible {
  const no = (detail: string): DebianPossible => ({ possible: false, detail })
  if (host.platform !== 'linux' || host.arch !== 'x64')
    return no(`it is built on Debian x86_64; this is ${host.platform} ${host.arch}`)
  const id = /^ID="?([^"\n]*)"?$/m.exec(host.osRelease())?.[1] ?? ''
  if (id !== 'debian') return no(`it is built from Debian packages; this is ${id || 'an unknown Linux'}`)
  const missing = missingPackages(host)
  if (missing.length === 0) return { possible: true, detail: '' }
  return no(`a part is missing; install it with: apt-get install ${missing.join(' ')}`)
}

function missingPackages(host: DebianHost): string[] {
  const has = (program: string) => PROGRAM_DIRS.some((dir) => host.exists(`${dir}/${program}`))
  const missing = Object.entries(TOOLS).flatMap(([program, name]) => (has(program) ? [] : [name]))
  if (!host.exists(BOOT_CODE)) missing.push('grub-pc-bin')
  if (host.root) return missing
  if (!has('fakeroot')) missing.push('fakeroot')
  const namespaces = has('newuidmap') && host.subordinateIds()
  if (!namespaces && !has('fakechroot')) missing.push(host.subordinateIds() ? 'uidmap' : 'fakechroot')
  return missing
}
