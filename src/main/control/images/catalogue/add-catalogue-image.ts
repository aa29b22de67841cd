import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { diskFormat, HEAD_BYTES, TAIL_BYTES } from '../../../../ipc/disk-image/image-format.ts'
import { Fault } from '../../../../ipc/faults.ts'
import type { ImageOrigin, ImagesStore, NewImage } from '../../store/images-store.ts'
import type { TaskContext, TaskOutcome } from '../../tasks/task-context.ts'
import type { ImageFiles } from '../image-files.ts'
import type { CatalogueEntry } from './catalogue.ts'
import { digestIn } from './digest-list.ts'
import { type HttpsRequest, unusable } from './https-get.ts'
import { download, publishedText } from './published-file.ts'

const BUILD = 'Ask which build is the newest'
const LIST = "Read the publisher's list of digests"
const FIND = 'Find the image in it'
const DOWNLOAD = 'Download it and compare its SHA-512'
const ADD = 'Add to catalogue'
const SERIAL = /^serial=(\d{8}(?:\.\d{1,3})?)$/m

export interface AddCatalogueDeps {
  images: ImagesStore
  files: ImageFiles
  request: HttpsRequest
}

interface Place {
  url: string
  digestsUrl: string
  /** It stays there when the next build comes. */
  fixed: boolean
}

/**
 * An image of the catalogue, its digest read from the publisher now. Hosts check SHA-256: where the publisher lists that,
 * they fetch the image themselves; where it lists SHA-512 alone, the bytes come here first and are kept.
 */
export async function addCatalogueImage(
  { images, files, request }: AddCatalogueDeps,
  { entry, name, makeDefault }: { entry: CatalogueEntry; name: string; makeDefault: boolean },
  task: TaskContext,
): Promise<TaskOutcome> {
  const keeps = entry.algorithm === 'sha512'
  task.plan([...(entry.build ? [BUILD] : []), LIST, FIND, ...(keeps ? [DOWNLOAD] : []), ADD])
  const { url, digestsUrl, fixed } = await newestBuild(request, entry, task)
  const list = await task.step(LIST, async ({ detail }) => {
    detail(digestsUrl)
    return await publishedText(request, digestsUrl, task.signal)
  })
  const digest = await task.step(FIND, async ({ detail }) => {
    const found = digestIn(list, fileOf(url), entry.algorithm)
    if ('problem' in found) throw unusable(digestsUrl, found.problem)
    detail(`${fileOf(url)}, ${entry.algorithm === 'sha512' ? 'SHA-512' : 'SHA-256'} ${found.digest.slice(0, 12)}…`)
    return found.digest
  })
  const add = (image: Pick<NewImage, 'url' | 'sha256' | 'sizeBytes' | 'format'>, origin: Partial<ImageOrigin>) => {
    const row = images.create({
      ...{ id: randomBytes(16).toString('hex'), name, kind: 'disk', arch: entry.arch, ...image },
      ...{ defaultVcpus: entry.defaultVcpus, defaultMemMb: entry.defaultMemMb, defaultDiskGb: entry.defaultDiskGb },
      description: `${entry.title}. ${entry.description}`,
      origin: { verified: 'listed', digestsUrl, os: entry.os, virtualBytes: null, catalogue: entry.id, ...origin },
    })
    if (makeDefault || !images.findDefault(row.arch)) images.setDefault(row.id)
    return { resultId: row.id }
  }
  if (!keeps)
    return await task.step(ADD, async ({ detail }) => {
      detail(
        fixed
          ? 'Hosts fetch it from its publisher'
          : 'Hosts fetch it from its publisher, while this build is the newest',
      )
      return add({ url, sha256: digest, sizeBytes: null, format: '' }, {})
    })
  return await kept({ images, files, request }, { url, digest, name, add }, task)
}

async function newestBuild(request: HttpsRequest, entry: CatalogueEntry, task: TaskContext): Promise<Place> {
  const { build, url, digestsUrl } = entry
  if (!build) return { url, digestsUrl, fixed: false }
  return await task.step(BUILD, async ({ detail }) => {
    const text = await publishedText(request, build.url, task.signal)
    const [, serial] = SERIAL.exec(text) ?? []
    if (serial === undefined) throw unusable(build.url, 'it does not say which build is the newest')
    const folder = build.folder.replace('{serial}', serial)
    detail(`Build ${serial}`)
    return { url: folder + fileOf(url), digestsUrl: folder + fileOf(digestsUrl), fixed: true }
  })
}

async function kept(
  { images, files, request }: AddCatalogueDeps,
  { url, digest, name, add }: { url: string; digest: string; name: string; add: AddImage },
  task: TaskContext,
): Promise<TaskOutcome> {
  const dir = await mkdtemp(join(files.workDir, 'catalogue-'))
  try {
    const file = join(dir, 'image')
    const got = await task.step(DOWNLOAD, async ({ progress }) => {
      const found = await download(request, url, file, { signal: task.signal, progress })
      if (found.sha512 !== digest)
        throw new Fault('image/not-as-published', 'transient', { image: name, algorithm: 'SHA-512' })
      return { ...found, ...(await diskAt(file, found.sizeBytes)) }
    })
    return await task.step(ADD, async ({ detail }) => {
      task.signal.throwIfAborted()
      await files.adopt(file, got.sha256)
      try {
        detail(`Kept here and sent to hosts, SHA-256 ${got.sha256.slice(0, 12)}…`)
        const { sha256, sizeBytes, format, virtualBytes } = got
        return add({ url: '', sha256, sizeBytes, format }, { verified: 'checked', virtualBytes })
      } catch (error) {
        if (!images.findBySha256(got.sha256)) await files.remove(got.sha256)
        throw error
      }
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

type AddImage = (
  image: Pick<NewImage, 'url' | 'sha256' | 'sizeBytes' | 'format'>,
  origin: Partial<ImageOrigin>,
) => TaskOutcome

async function diskAt(path: string, size: number) {
  const file = await open(path)
  try {
    const part = async (length: number, at: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at)
      return buffer.subarray(0, bytesRead)
    }
    const head = await part(HEAD_BYTES, 0)
    return diskFormat({ head, tail: await part(TAIL_BYTES, Math.max(0, size - TAIL_BYTES)), size })
  } finally {
    await file.close()
  }
}

const fileOf = (url: string): string => new URL(url).pathname.split('/').at(-1) ?? ''
