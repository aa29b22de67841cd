import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { downloadDetail } from './download-detail.ts'
import type { PassDeps } from './pass-deps.ts'
import type { ProgressPart } from './vm-result.ts'

/** Download progress is published at most this often, ms. */
const PROGRESS_EVERY_MS = 250

export const WAITING_FOR_IMAGE = 'waiting for the image'

export type ImageBytes = Pick<ProgressPart, 'doneBytes' | 'totalBytes'>

/** True when the image is not here and only the control plane can give it. */
export const isAwaited = ({ images }: PassDeps, spec: VmSpec): boolean =>
  spec.imageUrl === '' && !images.stat(spec.imageSha256).complete

/** The image whole in the cache; passes straight through when it is, or when it was pushed. */
export async function haveImage(
  { clock, images }: PassDeps,
  spec: VmSpec,
  say: (detail: string, bytes: ImageBytes) => void,
  signal: AbortSignal,
): Promise<void> {
  if (spec.imageUrl === '') return
  let last = Number.NEGATIVE_INFINITY
  const progress = (doneBytes: number, totalBytes: number | undefined) => {
    const now = clock.monotonic()
    if (now - last < PROGRESS_EVERY_MS) return
    last = now
    say(downloadDetail(doneBytes, totalBytes), { doneBytes, totalBytes })
  }
  await images.fetch(spec.imageUrl, spec.imageSha256, progress, signal)
}
