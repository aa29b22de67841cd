import { dirname } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import { GiB } from '../../../ipc/units.ts'
import type { BootImage } from '../../images/image-cache.ts'
import { namedIfFull, VM_FILES_BYTES } from '../../os/disk-space.ts'
import type { Run } from '../../os/exec.ts'
import { isAbsent, publishFile, removeTree, tempBeside } from '../../os/files.ts'

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
  if (image.kind === 'disk' && image.virtualBytes > diskGb * GiB)
    throw new Fault('image/too-big-for-disk', 'permanent', {
      needed: `${(image.virtualBytes / GiB).toFixed(1)} GiB`,
      disk: `${diskGb} GiB`,
    })
  const temp = tempBeside(path)
  try {
    const { code, stderr, timedOut } = await run('disk.create', 'qemu-img', diskArgv(image, temp, diskGb), {
      signal,
      timeoutMs: QEMU_IMG_MS,
    })
    if (timedOut) throw new Fault('vmm/failed', 'transient', { detail: 'qemu-img did not end' })
    if (code !== 0 && /No space left on device/.test(stderr)) throw new Fault('host/disk-full', 'transient')
    if (code !== 0) throw new Fault('vmm/failed', 'transient', { detail: stderr.trim().slice(0, 300) })
    await publishFile('disk.publish', temp, path)
  } catch (error) {
    await removeTree('disk.discard', temp)
    if (isAbsent(error))
      throw new Fault('vmm/missing', 'permanent', { detail: 'qemu-img is not installed' }, { cause: error })
    throw await namedIfFull(error, dirname(path), VM_FILES_BYTES)
  }
}
