import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Fault } from '../../../../ipc/faults.ts'
import { GiB } from '../../../../ipc/units.ts'
import { type ImageArch, type ImagesStore, NO_ORIGIN } from '../../store/images-store.ts'
import type { TaskContext, TaskOutcome } from '../../tasks/task-context.ts'
import type { ImageFiles } from '../image-files.ts'
import { IMPORT_STEPS, importDisk } from './import-disk.ts'

/** Left free beside what an import takes. */
const SPARE_BYTES = 256 * 1024 * 1024

export interface ImportImage {
  name: string
  /** Absolute. */
  path: string
  arch: ImageArch
}

/** A disk file of this computer as an image of this store. What is not in the catalogue at the end leaves nothing behind. */
export async function importImage(
  { files, images }: { files: ImageFiles; images: ImagesStore },
  { name, path, arch }: ImportImage,
  task: TaskContext,
): Promise<TaskOutcome> {
  task.plan([...IMPORT_STEPS, 'Add to catalogue'])
  const dir = await mkdtemp(join(files.workDir, 'import-'))
  try {
    const disk = await importDisk({
      ...{ path, dir, signal: task.signal, requireSpace: (bytes) => requireSpace(dir, bytes, basename(path)) },
      step: (step, run) => task.step(step, run),
      skip: (step, detail) => task.skip(step, detail),
    })
    return await task.step('Add to catalogue', async ({ detail }) => {
      task.signal.throwIfAborted()
      const { sha256, sizeBytes, format } = disk
      await files.adopt(disk.file, sha256)
      try {
        const row = images.create({
          ...{ id: randomBytes(16).toString('hex'), name, kind: 'disk', format, arch, url: '', sha256, sizeBytes },
          ...{ defaultVcpus: disk.vcpus, defaultMemMb: disk.memMb },
          defaultDiskGb: Math.ceil(disk.virtualBytes / GiB),
          origin: { ...NO_ORIGIN, verified: 'imported', virtualBytes: disk.virtualBytes },
          description: `Imported from ${basename(path)}`.slice(0, 200),
        })
        detail(`${name}, SHA-256 ${sha256.slice(0, 12)}…`)
        return { resultId: row.id }
      } catch (error) {
        if (!images.findBySha256(sha256)) await files.remove(sha256)
        throw error
      }
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function requireSpace(dir: string, bytes: number, file: string): Promise<void> {
  const { bavail, bsize } = await statfs(dir)
  const needed = bytes + SPARE_BYTES
  if (bavail * bsize >= needed) return
  const gib = (size: number) => `${(size / GiB).toFixed(1)} GiB`
  const detail = `${gib(needed)} are needed for it where images are kept, and ${gib(bavail * bsize)} are free`
  throw new Fault('image/import-impossible', 'permanent', { file, detail, next: 'Make room and import it again.' })
}
