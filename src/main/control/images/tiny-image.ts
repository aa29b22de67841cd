import { randomBytes } from 'node:crypto'
import type { ImageRow, ImagesStore, NewImage } from '../store/images-store.ts'
import type { TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { ImageFiles } from './image-files.ts'

export const TINY_NAME = 'tiny'

export interface TinyBuilder {
  steps: readonly string[]
  possible(): { possible: boolean; detail: string }
  /** Leaves the file in `workDir`; the caller owns it. */
  build(options: {
    workDir: string
    cacheDir: string
    signal: AbortSignal
    step: TaskContext['step']
  }): Promise<{ file: string; sha256: string; sizeBytes: number }>
}

export interface TinyImageDeps {
  builder: TinyBuilder
  files: ImageFiles
  images: ImagesStore
  /** Downloaded packages are kept here. */
  cacheDir: string
}

/** Builds the tiny image and puts it into the catalogue; it becomes the default when its architecture has none. */
export async function buildTinyImage(deps: TinyImageDeps, task: TaskContext): Promise<TaskOutcome> {
  const { builder, files, images, cacheDir } = deps
  task.plan([...builder.steps, 'Add to catalogue'])
  const built = await builder.build({
    workDir: files.workDir,
    cacheDir,
    signal: task.signal,
    step: (name, run) => task.step(name, run),
  })
  return task.step('Add to catalogue', async ({ detail }) => {
    await files.adopt(built.file, built.sha256)
    const row = catalogued(images, built)
    detail(`${TINY_NAME}, SHA-256 ${built.sha256.slice(0, 12)}…`)
    return { resultId: row.id }
  })
}

function catalogued(images: ImagesStore, built: { sha256: string; sizeBytes: number }): ImageRow {
  const known = images.findByName(TINY_NAME)
  const image = tinyRow(known?.id ?? randomBytes(16).toString('hex'), built)
  const row = known ? images.replace(image) : images.create(image)
  return images.findDefault(row.arch) ? row : images.setDefault(row.id)
}

const tinyRow = (id: string, { sha256, sizeBytes }: { sha256: string; sizeBytes: number }): NewImage => ({
  id,
  name: TINY_NAME,
  kind: 'kernel',
  format: '',
  arch: 'x86_64',
  url: '',
  sha256,
  sizeBytes,
  defaultVcpus: 1,
  defaultMemMb: 96,
  defaultDiskGb: 1,
  description:
    'Linux kernel and a small userland built on this computer from Debian packages. ' +
    'Its serial console gives a root shell without a password.',
})
