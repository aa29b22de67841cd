import { dirname } from 'node:path'
import { GiB } from '../../../ipc/units.ts'
import type { BootImage } from '../../images/image-cache.ts'
import { namingFullDisk } from '../../os/disk-space.ts'
import type { Run } from '../../os/exec.ts'
import { cloneFile, growFile, publishFile, removeTree, sizeIfPresent, tempBeside } from '../../os/files.ts'
import { namedIfMissing, requireDone, requireFit } from '../root-disk.ts'

/** A whole image converted on a slow disk. */
const CONVERT_MS = 600_000
const NO_CONVERTER =
  'the image is a qcow2, Apple\'s framework takes raw disks only, and qemu-img is not installed to convert it: "brew install qemu", or use a raw image'

/**
 * Makes `path` by temp + rename, replacing what an unfinished create left. Apple's framework takes raw disks only: a
 * raw image is cloned (no bytes are copied on APFS), a qcow2 converted, a kernel image has an empty disk. The disk is
 * then grown by a hole, never cut: `image/too-big-for-disk` (permanent).
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
    await namingFullDisk(dirname(path), needed, async () => {
      if (image.kind === 'disk' && image.format === 'qcow2') await convert(run, image.file, temp, signal)
      else if (image.kind === 'disk') await cloneFile('vfkit-disk.clone', image.file, temp)
      signal.throwIfAborted()
      await growFile('vfkit-disk.grow', temp, diskGb * GiB)
      await publishFile('vfkit-disk.publish', temp, path)
    })
  } catch (error) {
    await removeTree('vfkit-disk.discard', temp)
    throw error
  }
}

/** Zeros become holes. Raises `vmm/missing` (permanent) when there is no qemu-img. */
async function convert(run: Run, from: string, to: string, signal: AbortSignal): Promise<void> {
  const args = ['convert', '-q', '-f', 'qcow2', '-O', 'raw', from, to]
  const options = { signal, timeoutMs: CONVERT_MS }
  const ended = await run('vfkit-disk.convert', 'qemu-img', args, options).catch((error) => {
    throw namedIfMissing(error, NO_CONVERTER)
  })
  requireDone(ended)
}
