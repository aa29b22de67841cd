import { dirname } from 'node:path'
import type { BootImage } from '../../images/image-cache.ts'
import { namedIfFull } from '../../os/disk-space.ts'
import type { Run } from '../../os/exec.ts'
import { publishFile, removeTree, sizeIfPresent, tempBeside } from '../../os/files.ts'
import { namedIfMissing, requireDone, requireFit } from '../root-disk.ts'

const COPY_MS = 600_000
const GROW_MS = 60_000

/** Arguments of qemu-img: the image's bytes in a sparse raw file, or an empty one of the wanted size for a kernel. */
export function createArgv(image: BootImage, temp: string, diskGb: number): string[] {
  return image.kind === 'disk'
    ? ['convert', '-q', '-f', image.format, '-O', 'raw', image.file, temp]
    : ['create', '-q', '-f', 'raw', temp, `${diskGb}G`]
}

/**
 * Makes `path` by temp + rename, replacing what an unfinished create left. Raw and whole: cloud-hypervisor resizes no
 * other format, and an overlay would have it parse what a person uploaded.
 */
export async function createRawDisk(
  run: Run,
  image: BootImage,
  path: string,
  diskGb: number,
  signal: AbortSignal,
): Promise<void> {
  requireFit(image, diskGb)
  const temp = tempBeside(path)
  const needed = image.kind === 'disk' ? ((await sizeIfPresent(image.file)) ?? 0) : 0
  try {
    const making = createArgv(image, temp, diskGb)
    requireDone(await run('ch-disk.create', 'qemu-img', making, { signal, timeoutMs: COPY_MS }))
    if (image.kind === 'disk') {
      const growing = ['resize', '-q', '-f', 'raw', temp, `${diskGb}G`]
      requireDone(await run('ch-disk.grow', 'qemu-img', growing, { signal, timeoutMs: GROW_MS }))
    }
    await publishFile('ch-disk.publish', temp, path)
  } catch (error) {
    await removeTree('ch-disk.discard', temp)
    throw await namedIfFull(namedIfMissing(error), dirname(path), needed)
  }
}
