import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../../ipc/faults.ts'
import type { TaskContext } from '../../tasks/task-context.ts'
import { cpioArchive } from './cpio.ts'
import { fetchPackages, unpackPackages } from './debian-packages.ts'
import { busyboxEntries, moduleEntries, ownFiles, packedSsh, skeleton, sshEntries, unxzFile } from './guest-root.ts'
import { writeTar } from './image-tar.ts'
import { tinyPossible } from './tiny-possible.ts'
import { extractVmlinux } from './vmlinux.ts'

export { tinyPossible } from './tiny-possible.ts'

declare const __EITRI_VERSION__: string | undefined

/** The build's steps in order, for `task.plan`. */
export const TINY_STEPS = ['Fetch packages', 'Unpack packages', 'Extract kernel', 'Write image'] as const

export interface TinyBuild {
  /** The image is left here, and everything temporary under it is removed. On one file system with where the image goes. */
  workDir: string
  /** Downloaded packages are kept here; default: with the temporary files. */
  cacheDir?: string
  signal: AbortSignal
  step: TaskContext['step']
  /** Our own guest files; default: those of this build. */
  assetsDir?: string
}

export interface TinyImage {
  file: string
  sha256: string
  sizeBytes: number
}

/** Makes the tiny `kernel` image from Debian packages; the caller owns the file. Raises image/build-impossible, image/build-failed. */
export async function buildTiny(build: TinyBuild): Promise<TinyImage> {
  const { possible, detail } = tinyPossible(process)
  if (!possible) throw new Fault('image/build-impossible', 'permanent', { image: 'tiny', detail })
  const { signal, step, assetsDir = defaultAssets() } = build
  const temp = await mkdtemp(join(build.workDir, 'tiny-'))
  try {
    const unpacked = join(temp, 'root')
    const packages = await step('Fetch packages', ({ detail }) =>
      fetchPackages(build.cacheDir ?? join(temp, 'cache'), {
        signal,
        onLine: (line) => detail(/^Get:\d+ \S+ \S+ \S+ (\S+)/.exec(line)?.[1] ?? ''),
      }),
    )
    await step('Unpack packages', () =>
      unpackPackages([...packages.kernel, ...packages.programs], unpacked, { signal }),
    )
    const { vmlinux, release } = await step('Extract kernel', () => kernelOf(unpacked, temp, signal))
    return await step('Write image', async (progress) => {
      const entries = [
        ...skeleton(),
        ...(await ownFiles(assetsDir)),
        ...(await busyboxEntries(unpacked, { signal })),
        packedSsh(await sshEntries(unpacked, { signal })),
        ...(await moduleEntries(unpacked, release, { signal })),
      ]
      signal.throwIfAborted()
      const image = await writeTar(join(temp, 'image.tar'), [
        { name: 'vmlinux', content: vmlinux },
        { name: 'initrd', content: cpioArchive(entries) },
        { name: 'cmdline', content: await readFile(join(assetsDir, 'cmdline')) },
      ])
      const file = join(build.workDir, `tiny-${image.sha256.slice(0, 12)}.tar`)
      await rename(join(temp, 'image.tar'), file)
      progress.progress(image.sizeBytes, image.sizeBytes)
      return { file, ...image }
    })
  } finally {
    await rm(temp, { recursive: true, force: true })
  }
}

async function kernelOf(unpacked: string, temp: string, signal: AbortSignal) {
  const name = (await readdir(join(unpacked, 'boot'))).find((file) => file.startsWith('vmlinuz-'))
  if (!name) throw new Fault('image/build-failed', 'permanent', { message: 'the kernel package has no boot/vmlinuz' })
  const packed = await readFile(join(unpacked, 'boot', name))
  const vmlinux = await extractVmlinux(packed, async (xz) => {
    const file = join(temp, 'payload.xz')
    await writeFile(file, xz)
    return unxzFile(unpacked, file, { signal })
  })
  return { vmlinux, release: name.slice('vmlinuz-'.length) }
}

/** In a bundle the assets stand beside dist/main; from source at the top of the checkout. */
function defaultAssets(): string {
  const up = typeof __EITRI_VERSION__ === 'undefined' ? '../../../../..' : '..'
  return join(import.meta.dirname, up, 'assets/tiny')
}
