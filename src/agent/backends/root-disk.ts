import { Fault } from '../../ipc/faults.ts'
import { GiB } from '../../ipc/units.ts'
import type { BootImage } from '../images/image-cache.ts'
import type { RunResult } from '../os/exec.ts'
import { isAbsent } from '../os/files.ts'

/** A disk never cuts its image: raises `image/too-big-for-disk` (permanent). */
export function requireFit(image: BootImage, diskGb: number): void {
  if (image.kind !== 'disk' || image.virtualBytes <= diskGb * GiB) return
  const needed = `${(image.virtualBytes / GiB).toFixed(1)} GiB`
  throw new Fault('image/too-big-for-disk', 'permanent', { needed, disk: `${diskGb} GiB` })
}

/** Whether qemu-img did its work. Raises `host/disk-full` and `vmm/failed`. */
export function requireDone({ code, stderr, timedOut }: RunResult): void {
  if (timedOut) throw new Fault('vmm/failed', 'transient', { detail: 'qemu-img did not end' })
  if (code === 0) return
  if (/No space left on device/.test(stderr)) throw new Fault('host/disk-full', 'transient')
  throw new Fault('vmm/failed', 'transient', { detail: stderr.trim().slice(0, 300) })
}

/** `vmm/missing` (permanent) for a qemu-img that is not there, any other error as it is. */
export const namedIfMissing = (error: unknown, detail = 'qemu-img is not installed'): unknown =>
  isAbsent(error) ? new Fault('vmm/missing', 'permanent', { detail }, { cause: error }) : error
