import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Fault } from '../../../../ipc/faults.ts'
import type { TaskContext } from '../../tasks/task-context.ts'
import { type CommandOptions, command } from '../command.ts'
import { writeBootableDisk } from './bootable-disk.ts'
import { debianPossible, thisDebianHost } from './debian-possible.ts'
import { installPackages } from './install-packages.ts'

declare const __EITRI_VERSION__: string | undefined

/** The build's steps in order, for `task.plan`. */
export const DEBIAN_STEPS = ['Install packages', 'Write disk', 'Compress image'] as const

/** The packages and the tree as an archive, unpacked, and as a file system. */
const NEEDED_BYTES = 2.5 * 2 ** 30
const DISK_BYTES = 2 ** 30

export interface DebianBuild {
  /** The image is left here, and everything temporary under it is removed. On one file system with where the image goes. */
  workDir: string
  signal: AbortSignal
  step: TaskContext['step']
  /** Our own part of the image; default: that of this build. */
  assetsDir?: string
}

export interface DebianImage {
  file: string
  sha256: string
  sizeBytes: number
}

/** Makes a Debian 12 `disk` image (qcow2) from packages; the caller owns the file. Raises image/build-impossible, image/build-failed. */
export async function buildDebian(build: DebianBuild): Promise<DebianImage> {
  const { possible, detail } = debianPossible(thisDebianHost(process))
  if (!possible) throw new Fault('image/build-impossible', 'permanent', { image: 'debian-12', detail })
  await requireSpace(build.workDir)
  const { signal, step, assetsDir = defaultAssets() } = build
  const temp = await mkdtemp(join(build.workDir, 'debian-'))
  const root = process.getuid?.() === 0
  const disk = join(temp, 'disk.raw')
  try {
    const archive = await step('Install packages', ({ detail }) =>
      installPackages({ assetsDir, temp, root }, { signal, onLine: (line) => detail(progressOf(line) ?? '') }),
    )
    await step('Write disk', async () => {
      const asRoot = asRootIn(temp, root, { signal })
      const tree = join(temp, 'tree')
      await mkdir(tree)
      await asRoot(['tar', '--numeric-owner', '-xpf', archive, '-C', tree, ...(root ? XATTRS : [])])
      await rm(archive)
      await writeBootableDisk({ root: tree, file: disk, sizeBytes: DISK_BYTES, asRoot }, { signal })
    })
    return await step('Compress image', async (progress) => {
      const packed = join(temp, 'disk.qcow2')
      const how = ['-c', '-f', 'raw', '-O', 'qcow2', '-o', 'compression_type=zstd']
      await command('qemu-img', ['convert', ...how, disk, packed], { signal })
      const image = await digested(packed)
      const file = join(build.workDir, `debian-${image.sha256.slice(0, 12)}.qcow2`)
      await rename(packed, file)
      progress.progress(image.sizeBytes, image.sizeBytes)
      return { file, ...image }
    })
  } finally {
    await rm(temp, { recursive: true, force: true })
  }
}

const XATTRS = ['--xattrs', '--xattrs-include=*']

async function requireSpace(dir: string): Promise<void> {
  const { bavail, bsize } = await statfs(dir)
  const gib = (bytes: number) => `${(bytes / 2 ** 30).toFixed(1)} GiB`
  if (bavail * bsize >= NEEDED_BYTES) return
  const message = `${dir} has ${gib(bavail * bsize)} free, and the build takes ${gib(NEEDED_BYTES)} for a while`
  throw new Fault('image/build-failed', 'permanent', { message })
}

/** Owners and device nodes are remembered between the calls. */
function asRootIn(temp: string, root: boolean, options: CommandOptions) {
  const state = join(temp, 'fakeroot.state')
  return async ([file, ...args]: readonly string[]): Promise<void> => {
    if (root) await command(file!, args, options)
    else await command('fakeroot', ['-i', state, '-s', state, '--', file!, ...args], options)
  }
}

/** What a line of mmdebstrap, apt or dpkg says of how far it is; undefined = nothing. Pure. */
export function progressOf(line: string): string | undefined {
  const [, url] = /^Get:\d+ \S+ \S+ \S+ (\S+)/.exec(line) ?? []
  if (url) return url
  return /^(?:Unpacking|Setting up|Processing triggers for) [a-z0-9+.-]+/.exec(line)?.[0]
}

async function digested(file: string): Promise<{ sha256: string; sizeBytes: number }> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return { sha256: hash.digest('hex'), sizeBytes: (await stat(file)).size }
}

/** In a bundle the assets stand beside dist/main; from source at the top of the checkout. */
function defaultAssets(): string {
  const up = typeof __EITRI_VERSION__ === 'undefined' ? '../../../../..' : '..'
  return join(import.meta.dirname, up, 'assets/debian')
}
