import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Fault } from '../../../../ipc/faults.ts'
import { type CommandOptions, command } from '../command.ts'
import { cpioArchive, type RootEntry } from './cpio.ts'
import { loadOrder, normal, readModinfo } from './kernel-modules.ts'

const MODULES = ['virtio_pci', 'virtio_blk', 'virtio_net', 'virtio_rng', 'virtio_console', 'isofs', 'button', 'evdev']
const LOADER = 'lib64/ld-linux-x86-64.so.2'
const LIBRARY_DIRS = ['lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu']
/** sshd of newer OpenSSH runs the last two for each session. */
const PROGRAMS = ['usr/sbin/sshd', 'usr/bin/ssh-keygen', 'usr/lib/openssh/sshd-session', 'usr/lib/openssh/sshd-auth']

const directory = (path: string, mode = 0o755): RootEntry => ({ kind: 'directory', path, mode })
const file = (path: string, content: Buffer | string, mode = 0o644): RootEntry => ({
  kind: 'file',
  path,
  mode,
  content: Buffer.from(content),
})
const link = (path: string, target: string): RootEntry => ({ kind: 'symlink', path, mode: 0o777, target })

/** Directories, links and account files that no package brings. Pure. */
export function skeleton(): RootEntry[] {
  const dirs =
    'bin dev etc etc/acpi etc/acpi/PWRF etc/ssh etc/tiny lib lib/modules lib/x86_64-linux-gnu lib64 mnt proc run sys usr usr/lib usr/lib/openssh var var/empty'
  return [
    ...dirs.split(' ').map((path) => directory(path)),
    directory('root', 0o700),
    directory('tmp', 0o1777),
    link('init', 'bin/busybox'),
    link('sbin', 'bin'),
    link('usr/bin', '../bin'),
    link('usr/sbin', '../bin'),
    link('var/run', '../run'),
    file('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n'),
    file('etc/shadow', 'root::::::::\n', 0o600),
    file('etc/group', 'root:x:0:\nnogroup:x:65534:\n'),
    file('etc/shells', '/bin/sh\n'),
  ]
}

/** Our own files of the guest, from `assets/tiny`. */
export async function ownFiles(assetsDir: string): Promise<RootEntry[]> {
  const read = (name: string) => readFile(join(assetsDir, name))
  const scripts = ['rc', 'seed', 'data', 'services', 'guest-agent', 'dhcp', 'login', 'shutdown']
  return [
    ...(await Promise.all(scripts.map(async (name) => file(`etc/tiny/${name}`, await read(name), 0o755)))),
    ...(await Promise.all(
      ['mime.awk', 'cloud-config.awk'].map(async (name) => file(`etc/tiny/${name}`, await read(name))),
    )),
    file('etc/inittab', await read('inittab')),
    file('etc/profile', await read('profile')),
    file('etc/ssh/sshd_config', await read('sshd_config')),
    file('etc/acpi/PWRF/00000080', await read('power-button'), 0o755),
  ]
}

/** busybox with a link for each of its programs. */
export async function busyboxEntries(unpacked: string, options: CommandOptions): Promise<RootEntry[]> {
  const busybox = firstOf(unpacked, ['bin/busybox', 'usr/bin/busybox'])
  const names = (await command(busybox, ['--list'], options)).split('\n').filter((name) => name && name !== 'busybox')
  return [file('bin/busybox', await readFile(busybox), 0o755), ...names.map((name) => link(`bin/${name}`, 'busybox'))]
}

/** sshd, ssh-keygen and the shared libraries their own loader says they need. Raises image/build-failed for a library no package brought. */
export async function sshEntries(unpacked: string, options: CommandOptions): Promise<RootEntry[]> {
  const loader = firstOf(unpacked, [LOADER, `usr/${LOADER}`])
  const entries = [file(LOADER, await readFile(loader), 0o755)]
  const libraries = new Set<string>()
  for (const path of PROGRAMS) {
    const program = join(unpacked, path)
    const content = await readFile(program).catch(() => undefined)
    if (!content) continue
    entries.push(file(path.startsWith('usr/lib/') ? path : `bin/${basename(path)}`, content, 0o755))
    const search = LIBRARY_DIRS.map((dir) => join(unpacked, dir)).join(':')
    const listing = await command(loader, ['--inhibit-cache', '--library-path', search, '--list', program], options)
    for (const library of librariesOf(listing)) libraries.add(library)
  }
  for (const library of libraries)
    entries.push(file(`lib/x86_64-linux-gnu/${basename(library)}`, await readFile(library), 0o755))
  return entries
}

/** sshd and its libraries as a packed archive in the root: two thirds of the guest's bytes, unpacked once the prompt is there, so that 96 MB of memory are enough. */
export function packedSsh(entries: readonly RootEntry[]): RootEntry {
  return file('ssh.cpio.gz', gzipSync(cpioArchive(entries), { level: 9 }))
}

/** Paths in a loader's `--list`; raises image/build-failed when one is missing. Pure. */
export function librariesOf(listing: string): string[] {
  const missing = /^\s*(\S+) => not found/m.exec(listing)?.[1]
  if (missing) throw new Fault('image/build-failed', 'permanent', { message: `no package brought ${missing}` })
  return [...listing.matchAll(/^\s*(?!\S*ld-linux)\S+ => (\/\S+) \(0x/gm)].map((match) => match[1] ?? '')
}

/** The modules the guest needs, unpacked, and `lib/modules/order`. Raises image/build-failed when one is neither here nor built in. */
export async function moduleEntries(unpacked: string, release: string, options: CommandOptions): Promise<RootEntry[]> {
  const base = firstOf(unpacked, [`lib/modules/${release}`, `usr/lib/modules/${release}`])
  const paths = new Map<string, string>()
  for (const entry of await readdir(join(base, 'kernel'), { recursive: true }))
    if (/\.ko(\.xz)?$/.test(entry))
      paths.set(normal(basename(entry).replace(/\.ko(\.xz)?$/, '')), join(base, 'kernel', entry))
  const builtIn = await readFile(join(base, 'modules.builtin'), 'utf8')
  const contents = new Map<string, Buffer>()
  const load = async (name: string): Promise<void> => {
    const path = paths.get(name)
    if (!path || contents.has(name)) return
    const content = path.endsWith('.xz') ? await unxzFile(unpacked, path, options) : await readFile(path)
    contents.set(name, content)
    for (const dependency of readModinfo(content)?.depends ?? []) await load(dependency)
  }
  for (const name of MODULES) {
    await load(name)
    if (!contents.has(name) && !builtIn.replaceAll('-', '_').includes(`/${name}.ko`))
      throw new Fault('image/build-failed', 'permanent', { message: `the kernel package has no module ${name}` })
  }
  const order = loadOrder(MODULES, (name) => {
    const content = contents.get(name)
    return content && readModinfo(content)
  })
  const modules = order.flatMap((name) => file(`lib/modules/${name}.ko`, contents.get(name) ?? ''))
  return [...modules, file('lib/modules/order', order.map((name) => `${name}.ko\n`).join(''))]
}

/** Newer Debian packs modules with xz, which Node cannot read: the guest's own busybox can. */
export async function unxzFile(unpacked: string, path: string, options: CommandOptions): Promise<Buffer> {
  const busybox = firstOf(unpacked, ['bin/busybox', 'usr/bin/busybox'])
  const out = `${path}.plain`
  await command(busybox, ['sh', '-c', 'exec "$0" xzcat "$1" >"$2"', busybox, path, out], options)
  return readFile(out)
}

function firstOf(unpacked: string, candidates: string[]): string {
  const found = candidates.map((path) => join(unpacked, path)).find((path) => existsSync(path))
  if (found) return found
  throw new Fault('image/build-failed', 'permanent', { message: `the packages have no ${candidates[0]}` })
}
