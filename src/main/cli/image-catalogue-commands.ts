import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import {
  ImageSchema,
  ListCatalogueResponseSchema,
  PushImageResponseSchema,
} from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { CommandContext, Runner } from './context.ts'
import { followTask } from './follow-task.ts'
import { reference } from './options.ts'
import { table } from './table.ts'

/** A cloud image over a slow line. */
const TRANSFER_MS = 12 * 3600_000
const MB = 1_000_000n

/** `eitri image catalogue` and `eitri image push`. */
export function imageCatalogueCommands(image: Command, run: Runner): void {
  run(
    image.command('catalogue').description('cloud images of Debian and Ubuntu, added with: image add --catalogue ID'),
    async (context) => {
      context.deadline()
      const answer = await (await context.fleet()).images.listCatalogue({}, { signal: context.signal })
      await context.answer(ListCatalogueResponseSchema, answer, () =>
        table(
          ['ID', 'TITLE', 'ARCH', 'ABOUT', 'ADDED AS', 'FROM'],
          answer.images.map((one) => [
            one.id,
            one.title,
            one.arch,
            one.aboutBytes === 0n ? '' : `${one.aboutBytes / MB} MB`,
            one.addedAs,
            new URL(one.url).host,
          ]),
        ),
      )
    },
  )
  run(
    image
      .command('push <name>')
      .description('bring an image to a host before a VM needs it')
      .requiredOption('--host <host>', 'which host'),
    push,
  )
}

async function push(context: CommandContext, name: string, { host }: { host: string }): Promise<void> {
  context.deadline(TRANSFER_MS)
  const fleet = await context.fleet()
  const request = { image: reference('image', name), host: reference('host', host) }
  const answer = await fleet.images.pushImage(request, { signal: context.signal })
  if (answer.task) await followTask(context, fleet, answer.task)
  if (context.json) return await context.answer(PushImageResponseSchema, answer, () => '')
  await context.say(answer.task ? `${name} is on ${host}.\n` : `${name} was on ${host} already.\n`)
}

/** `eitri image add --catalogue ID`: its digest is read from the publisher now. */
export async function addFromCatalogue(
  context: CommandContext,
  request: { entry: string; name: string; makeDefault: boolean },
) {
  context.deadline(TRANSFER_MS)
  const fleet = await context.fleet()
  const { task } = await fleet.images.addCatalogueImage(request, { signal: context.signal })
  if (!task) throw new Fault('app/bug', 'bug', { message: 'no task was started' })
  const { resultId } = await followTask(context, fleet, task)
  const { images } = await fleet.images.listImages({}, { signal: context.signal })
  const image = images.find(({ id }) => id === resultId)
  if (!image) throw new Fault('image/not-found', 'permanent', { image: request.name || request.entry })
  return { image, schema: ImageSchema }
}
