import { randomBytes } from 'node:crypto'
import { type ImageRow, type ImagesStore, type NewImage, NO_ORIGIN } from '../store/images-store.ts'
import type { TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { ImageFiles } from './image-files.ts'

/** An image this computer can build. */
export interface ImageBuilder {
  /** Its row in the catalogue, without what a build brings. */
  image: Omit<NewImage, 'id' | 'url' | 'sha256' | 'sizeBytes'>
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

export interface BuiltImageDeps {
  files: ImageFiles
  images: ImagesStore
  /** Downloaded packages are kept here. */
  cacheDir: string
}

/** Builds an image and puts it into the catalogue; it becomes the default when its architecture has none. */
export async function buildImage(deps: BuiltImageDeps, builder: ImageBuilder, task: TaskContext): Promise<TaskOutcome> {
  const { files, images, cacheDir } = deps
  task.plan([...builder.steps, 'Add to catalogue'])
  const built = await builder.build({
    workDir: files.workDir,
    cacheDir,
    signal: task.signal,
    step: (name, run) => task.step(name, run),
  })
  return task.step('Add to catalogue', async ({ detail }) => {
    await files.adopt(built.file, built.sha256)
    const row = catalogued(images, builder.image, built)
    detail(`${row.name}, SHA-256 ${built.sha256.slice(0, 12)}…`)
    return { resultId: row.id }
  })
}

function catalogued(
  images: ImagesStore,
  image: ImageBuilder['image'],
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): ImageRow {
  const known = images.findByName(image.name)
  const origin = { ...NO_ORIGIN, ...image.origin, verified: 'built' as const }
  const next = { ...image, origin, id: known?.id ?? randomBytes(16).toString('hex'), url: '', sha256, sizeBytes }
  const row = known ? images.replace(next) : images.create(next)
  return images.findDefault(row.arch) ? row : images.setDefault(row.id)
}
