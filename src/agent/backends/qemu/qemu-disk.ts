import { dirname } from 'node:path'
import type { BootImage } from '../../images/image-cache.ts'
import { namedIfFull, VM_FILES_BYTES } from '../../os/disk-space.ts'
import type { Run } from '../../os/exec.ts'
import { publishFile, removeTree, tempBeside } from '../../os/files.ts'
import { namedIfMissing, requireDone, requireFit } from '../root-disk.ts'

const QEMU_IMG_MS = 60_000

/** Arguments of qemu-img for the guest's first disk: an overlay on the cached image, or an empty disk for a kernel. */
export function diskArgv(image: BootImage, temp: string, diskGb: number): string[] {
  const base = image.kind === 'disk' ? ['-b', image.file, '-F', image.format] : []
  return ['create', '-q', '-f', 'qcow2', ...base, temp, `${diskGb}G`]
}

/** Makes `path` by temp + rename, replacing what an unfinished create left. */
export async function createDisk(
  run: Run,
  image: BootImage,
  path: string,
  diskGb: number,
  signal: AbortSignal,
): Promise<void> {
  requireFit(image, diskGb)
  const temp = tempBeside(path)
  try {
    const options = { signal, timeoutMs: QEMU_IMG_MS }
    requireDone(await run('disk.create', 'qemu-img', diskArgv(image, temp, diskGb), options))
    await publishFile('disk.publish', temp, path)
  } catch (error) {
    await removeTree('disk.discard', temp)
    throw await namedIfFull(namedIfMissing(error), dirname(path), VM_FILES_BYTES)
  }
}
