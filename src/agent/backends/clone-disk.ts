import { dirname } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import { GiB } from '../../ipc/units.ts'
import { backingFileOf, virtualBytesOf } from '../images/qcow2-backing.ts'
import { namedIfFull } from '../os/disk-space.ts'
import type { Run } from '../os/exec.ts'
import {
  allocatedIfPresent,
  growFile,
  publishFile,
  removeTree,
  shareFile,
  sizeIfPresent,
  tempBeside,
} from '../os/files.ts'
import type { CloneRequest } from './backend.ts'
import { namedIfMissing, requireDone } from './root-disk.ts'

/** A whole disk copied on a slow one; the pass around it ends earlier. */
const COPY_MS = 24 * 3600_000
const GROW_MS = 60_000
const PROGRESS_EVERY_MS = 500

export interface DiskClone extends Pick<CloneRequest, 'image' | 'progress' | 'requireRoom'> {
  from: string
  /** Of the VM the disk is from, for people. */
  fromName: string
  to: string
  format: 'qcow2' | 'raw'
  diskGb: number
}

/**
 * Makes `to` by temp + rename, replacing what an unfinished create left: the blocks shared where the filesystem can, else
 * copied. Then grown, never cut: `image/too-big-for-disk` (permanent).
 */
export async function cloneDisk(run: Run, clone: DiskClone, signal: AbortSignal): Promise<void> {
  const { from, fromName, to, format, diskGb } = clone
  const has = format === 'raw' ? ((await sizeIfPresent(from)) ?? 0) : await virtualBytesOf(from)
  if (has > diskGb * GiB) {
    const needed = `${(has / GiB).toFixed(1)} GiB`
    throw new Fault('image/too-big-for-disk', 'permanent', { image: fromName, needed, disk: `${diskGb} GiB` })
  }
  const temp = tempBeside(to)
  const bytes = (await allocatedIfPresent(from)) ?? 0
  try {
    if (!(await shareFile('disk.share', from, temp))) await copy(run, clone, { temp, bytes }, signal)
    signal.throwIfAborted()
    if (format === 'raw') await growFile('disk.clone-grow-raw', temp, diskGb * GiB)
    else {
      const growing = ['resize', '-q', '-f', format, temp, `${diskGb}G`]
      requireDone(await run('disk.clone-grow', 'qemu-img', growing, { signal, timeoutMs: GROW_MS }))
    }
    await publishFile('disk.clone-publish', temp, to)
  } catch (error) {
    await removeTree('disk.clone-discard', temp)
    throw await namedIfFull(namedIfMissing(error), dirname(to), bytes)
  }
}

async function copy(
  run: Run,
  { from, format, image, progress, requireRoom }: DiskClone,
  { temp, bytes }: { temp: string; bytes: number },
  signal: AbortSignal,
): Promise<void> {
  await requireRoom(bytes)
  // An overlay of the image stays one.
  const overlay = format === 'qcow2' && image.kind === 'disk' && (await backingFileOf(from)) === image.file
  const base = overlay ? ['-o', `backing_file=${optionValue(image.file)},backing_fmt=${image.format}`] : []
  const args = ['convert', '-q', '-f', format, '-O', format, ...base, from, temp]
  const look = () =>
    void allocatedIfPresent(temp).then(
      (done) => progress(Math.min(done ?? 0, bytes), bytes),
      () => {},
    )
  progress(0, bytes)
  const timer = setInterval(look, PROGRESS_EVERY_MS)
  try {
    requireDone(await run('disk.copy', 'qemu-img', args, { signal, timeoutMs: COPY_MS }))
  } finally {
    clearInterval(timer)
  }
}

/** A comma in a path would begin the next option. */
const optionValue = (path: string): string => path.replaceAll(',', ',,')
