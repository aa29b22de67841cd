import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import type { PushState } from '../hosts/image-push.ts'
import type { ImageRow } from '../store/images-store.ts'
import type { TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { HttpsRequest } from './catalogue/https-get.ts'
import { download } from './catalogue/published-file.ts'
import type { ImageFiles } from './image-files.ts'

const FETCH = 'Fetch it to this computer'
const SEND = 'Send it to the host'
/** A large image over a slow line, and a host that is away for a while. */
const SEND_MS = 12 * 3600_000

export interface ImagePushes {
  ask(hostId: string, sha256: string, signal: AbortSignal): Promise<void>
  state(hostId: string, sha256: string): PushState | undefined
  onChange(listener: (hostId: string) => void): () => void
}

export interface PushImageDeps {
  files: ImageFiles
  pushes: ImagePushes
  request: HttpsRequest
  /** Tasks under way, by digest of an image that is here only while it passes. */
  passing: Map<string, number>
  /** Whether some image of the store is kept here under this digest. */
  isKept(sha256: string): boolean
}

/** Brings an image to a host. One that hosts fetch by themselves comes here first, and goes again once it was sent. */
export async function pushImage(
  { files, pushes, request, passing, isKept }: PushImageDeps,
  { image, host }: { image: ImageRow; host: { id: string; name: string } },
  task: TaskContext,
): Promise<TaskOutcome> {
  const { sha256, url } = image
  const passes = url !== '' && !isKept(sha256)
  const count = (by: number) => passing.set(sha256, (passing.get(sha256) ?? 0) + by)
  task.plan(passes ? [FETCH, SEND] : [SEND])
  count(1)
  try {
    if (passes && (await files.has(sha256))) task.skip(FETCH, 'It is here')
    else if (passes) await fetched({ files, request }, image, task)
    await task.step(SEND, async ({ progress, detail }) => {
      const show = (hostId: string) => {
        if (hostId !== host.id) return
        const state = pushes.state(host.id, sha256)
        if (state?.progress) progress(state.progress.doneBytes, state.progress.totalBytes)
        detail(state?.fault ? `Tried again: ${state.fault.params['detail'] ?? state.fault.code}` : `to ${host.name}`)
      }
      const stop = pushes.onChange(show)
      try {
        detail(`to ${host.name}`)
        const late = AbortSignal.timeout(SEND_MS)
        await pushes.ask(host.id, sha256, AbortSignal.any([task.signal, late])).catch((error) => {
          const detail = `it was not whole after ${SEND_MS / 3600_000} hours`
          throw late.aborted
            ? new Fault('image/push-failed', 'transient', { image: image.name, host: host.name, detail })
            : error
        })
      } finally {
        stop()
      }
    })
  } finally {
    count(-1)
    if (passes && passing.get(sha256) === 0 && !isKept(sha256)) await files.remove(sha256)
    if (passing.get(sha256) === 0) passing.delete(sha256)
  }
  return { resultId: image.id }
}

async function fetched(
  { files, request }: Pick<PushImageDeps, 'files' | 'request'>,
  { name, url, sha256 }: ImageRow,
  task: TaskContext,
): Promise<void> {
  const dir = await mkdtemp(join(files.workDir, 'push-'))
  try {
    await task.step(FETCH, async ({ progress }) => {
      const file = join(dir, 'image')
      const got = await download(request, url, file, { signal: task.signal, progress })
      if (got.sha256 !== sha256)
        throw new Fault('image/digest-mismatch', 'permanent', { image: name, expected: sha256, found: got.sha256 })
      await files.adopt(file, sha256)
    })
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
