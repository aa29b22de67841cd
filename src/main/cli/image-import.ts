import { Fault } from '../../ipc/faults.ts'
import type { Image } from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { FleetClient } from '../fleet-client.ts'
import type { CommandContext } from './context.ts'
import { followTask } from './follow-task.ts'

export interface ImportRequest {
  name: string
  /** Absolute. */
  path: string
  arch: string
  ifAbsent: boolean
}

/** The image the file becomes, once it is in the store; its task is cancelled when the command is. */
export async function followImport(
  context: CommandContext,
  fleet: FleetClient,
  request: ImportRequest,
): Promise<Image> {
  const { signal } = context
  const { task, image } = await fleet.images.importImage(request, { signal })
  if (image) return image
  if (!task) throw new Fault('app/bug', 'bug', { message: 'no task was started' })
  const { resultId } = await followTask(context, fleet, task)
  const { images } = await fleet.images.listImages({}, { signal })
  const imported = images.find(({ id }) => id === resultId)
  if (!imported) throw new Fault('image/not-found', 'permanent', { image: request.name })
  return imported
}
