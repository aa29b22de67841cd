import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type CommandOptions, command } from '../command.ts'
import { debianSources, INDEX_FORMAT, SUITE } from './debian-sources.ts'

const INSTALL_TIMEOUT_MS = 20 * 60_000
/** Not part of the image; packages installed later bring theirs. */
const LEFT_OUT = ['/usr/share/man/*', '/usr/share/doc/*', '/usr/share/locale/*', '/usr/lib/binfmt.d/python3*']
const KEPT = '/usr/share/doc/*/copyright'

export interface Installation {
  /** Our own part: `packages`, `customize`, and the trees `early` and `root`. */
  assetsDir: string
  /** Holds the tree while it grows, and the archives; our user's alone. */
  temp: string
  root: boolean
}

/** Names of a package list, one a line. Pure. */
export const packageNames = (list: string): string[] => list.split('\n').filter((line) => /^[a-z0-9]/.test(line))

/** mmdebstrap's arguments; archives are named relative to its folder. Pure. */
export function mmdebstrapArguments(packages: readonly string[], sources: readonly string[], apt: string[]): string[] {
  return [
    '--verbose',
    '--variant=minbase',
    '--format=tar',
    `--include=${packages.join(',')}`,
    ...LEFT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`),
    `--dpkgopt=path-include=${KEPT}`,
    '--aptopt=APT::Install-Recommends "false"',
    ...apt.map((option) => `--aptopt=${option}`),
    '--essential-hook=tar-in early.tar /',
    '--customize-hook=tar-in root.tar /',
    '--customize-hook=tar-in customize.tar /',
    '--customize-hook=chroot "$1" /bin/sh /eitri-customize/customize',
    '--customize-hook=rm -r "$1/eitri-customize"',
    SUITE,
    'tree.tar',
    ...sources,
  ]
}

/** Makes `tree.tar` in the temporary folder, a whole root file system. Raises image/build-failed. */
export async function installPackages(plan: Installation, options: CommandOptions): Promise<string> {
  const { assetsDir, temp, root } = plan
  const at = { ...options, cwd: temp }
  await archive(join(assetsDir, 'early'), '.', join(temp, 'early.tar'), options)
  await archive(join(assetsDir, 'root'), '.', join(temp, 'root.tar'), options)
  await archive(assetsDir, 'customize', join(temp, 'customize.tar'), options, ['--transform=s,^,eitri-customize/,'])
  const targets = await command('apt-get', ['indextargets', '--format', INDEX_FORMAT, 'Created-By: Packages'], options)
  const proxy = await command('apt-config', ['dump', '--format', '%f "%v";%n', 'Acquire::http::Proxy'], options)
  const packages = packageNames(await readFile(join(assetsDir, 'packages'), 'utf8'))
  const args = mmdebstrapArguments(packages, debianSources(targets), proxy.split('\n').filter(isSet))
  // What it mounts is in a mount namespace of its own, and goes with it whatever becomes of it.
  const alone = ['unshare', '--mount', '--propagation', 'private', 'mmdebstrap']
  const [file, ...rest] = [...(root ? alone : ['mmdebstrap']), ...args] as [string, ...string[]]
  // Without root the tree belongs to other user ids, which do not reach into this folder.
  const env = { TMPDIR: root ? temp : '/var/tmp' }
  await command(file, rest, { ...at, env, timeoutMs: INSTALL_TIMEOUT_MS })
  return join(temp, 'tree.tar')
}

const isSet = (line: string) => /^Acquire::\S+ "[^"]+";$/.test(line)

/** Files as root's with plain modes, whatever the umask they were checked out with. */
async function archive(dir: string, what: string, file: string, options: CommandOptions, more: string[] = []) {
  const plain = ['--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX', '--sort=name', '--mtime=@0']
  await command('tar', [...plain, ...more, '-C', dir, '-cf', file, what], options)
}
