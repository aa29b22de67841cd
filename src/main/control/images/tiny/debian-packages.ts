import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, findFault } from '../../../../ipc/faults.ts'
import { type CommandOptions, command } from '../command.ts'

/** Its newest version's package is what this one depends on. */
const KERNEL_META = 'linux-image-cloud-amd64'
const PROGRAMS = ['busybox-static', 'openssh-server', 'openssh-client']
/** Of what sshd depends on only shared libraries are wanted, and no PAM. */
const LIBRARY = /^(lib(?!pam-)|zlib)/

export interface DebianPackages {
  kernel: string[]
  programs: string[]
}

/** The kernel package and the programs with the libraries they need, from `apt-cache depends --recurse`. Pure. */
export function choosePackages(dependsText: string): { kernel: string | undefined; programs: string[] } {
  const graph = parseDepends(dependsText)
  const programs = new Set<string>()
  const visit = (name: string) => {
    if (programs.has(name)) return
    programs.add(name)
    for (const next of graph.get(name) ?? []) if (LIBRARY.test(next)) visit(next)
  }
  PROGRAMS.forEach(visit)
  return {
    kernel: graph.get(KERNEL_META)?.find((name) => name.startsWith('linux-image-')),
    programs: [...programs].sort(),
  }
}

function parseDepends(text: string): Map<string, string[]> {
  const graph = new Map<string, string[]>()
  let current: string[] = []
  for (const line of text.split('\n')) {
    const dependency = /^ [ |](?:Pre)?Depends: ([a-z0-9][a-z0-9+.-]*)/.exec(line)?.[1]
    if (dependency) current.push(dependency)
    else if (/^[a-z0-9]/.test(line)) {
      current = []
      graph.set(line.trim(), current)
    }
  }
  return graph
}

/**
 * Downloads into `cacheDir` what is not there yet; apt checks every file against Debian's signed lists. When this computer's
 * lists are missing or too old, fresh ones are fetched into `cacheDir` (no root needed). Raises image/build-failed.
 */
export async function fetchPackages(cacheDir: string, options: CommandOptions): Promise<DebianPackages> {
  await mkdir(join(cacheDir, 'debs'), { recursive: true })
  try {
    return await fetchWith([], cacheDir, options)
  } catch (error) {
    if (findFault(error)?.code !== 'image/build-failed') throw error
  }
  const own = await ownLists(cacheDir)
  await command('apt-get', [...own, 'update', '-qq'], options)
  return fetchWith(own, cacheDir, options)
}

async function ownLists(cacheDir: string): Promise<string[]> {
  const lists = join(cacheDir, 'lists')
  const cache = join(cacheDir, 'apt')
  await mkdir(join(lists, 'partial'), { recursive: true })
  await mkdir(join(cache, 'archives/partial'), { recursive: true })
  return [`Dir::State::Lists=${lists}`, `Dir::Cache=${cache}`, 'APT::Sandbox::User='].flatMap((option) => [
    '-o',
    option,
  ])
}

const DEPENDS = 'depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances'

async function fetchWith(aptOptions: string[], cacheDir: string, options: CommandOptions): Promise<DebianPackages> {
  const text = await command('apt-cache', [...aptOptions, ...DEPENDS.split(' '), KERNEL_META, ...PROGRAMS], options)
  const { kernel, programs } = choosePackages(text)
  if (!kernel) throw new Fault('image/build-failed', 'transient', { message: `apt knows no ${KERNEL_META}` })
  const debs = join(cacheDir, 'debs')
  await command('apt-get', [...aptOptions, 'download', kernel, ...programs], { ...options, cwd: debs })
  return { kernel: await filesOf(debs, [kernel]), programs: await filesOf(debs, programs) }
}

async function filesOf(debs: string, names: string[]): Promise<string[]> {
  const present = (await readdir(debs)).filter((file) => file.endsWith('.deb')).sort()
  return names.map((name) => {
    const newest = present.filter((file) => file.startsWith(`${name}_`)).at(-1)
    if (!newest) throw new Fault('image/build-failed', 'transient', { message: `apt downloaded no ${name}` })
    return join(debs, newest)
  })
}

/** Unpacks packages over each other into `dir`, owner and mode as this user may set them. Raises image/build-failed. */
export async function unpackPackages(files: readonly string[], dir: string, options: CommandOptions): Promise<void> {
  await mkdir(dir, { recursive: true })
  for (const file of files) await command('dpkg-deb', ['-x', file, dir], options)
}
