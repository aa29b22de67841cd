import { Fault } from '../../../ipc/faults.ts'
import { GiB } from '../../../ipc/units.ts'
import type { BootImage } from '../../images/image-cache.ts'
import type { Run, RunResult } from '../../os/exec.ts'
import { isAbsent, isDiskFull, publishFile, removeTree, tempBeside } from '../../os/files.ts'

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
  if (image.kind === 'disk' && image.virtualBytes > diskGb * GiB)
    throw new Fault('image/too-big-for-disk', 'permanent', {
      needed: `${(image.virtualBytes / GiB).toFixed(1)} GiB`,
      disk: `${diskGb} GiB`,
    })
  const temp = tempBeside(path)
  try {
    const making = createArgv(image, temp, diskGb)
    check(await run('ch-disk.create', 'qemu-img', making, { signal, timeoutMs: COPY_MS }))
    if (image.kind === 'disk') {
      const growing = ['resize', '-q', '-f', 'raw', temp, `${diskGb}G`]
      check(await run('ch-disk.grow', 'qemu-img', growing, { signal, timeoutMs: GROW_MS }))
    }
    await publishFile('ch-disk.publish', temp, path)
  } catch (error) {
    await removeTree('ch-disk.discard', temp)
    if (isAbsent(error))
      throw new Fault('vmm/missing', 'permanent', { detail: 'qemu-img is not installed' }, { cause: error })
    if (isDiskFull(error)) throw new Fault('host/disk-full', 'transient', {}, { cause: error })
    throw error
  }
}

function check({ code, stderr, timedOut }: RunResult): void {
  if (timedOut) throw new Fault('vmm/failed', 'transient', { detail: 'qemu-img did not end' })
  if (code === 0) return
  if (/No space left on device/.test(stderr)) throw new Fault('host/disk-full', 'transient', {})
  throw new Fault('vmm/failed', 'transient', { detail: stderr.trim().slice(0, 300) })
}
