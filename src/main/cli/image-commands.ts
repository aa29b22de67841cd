import { resolve } from 'node:path'
import type { CallOptions } from '@connectrpc/connect'
import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import { type Image, ImageSchema, ListImagesResponseSchema } from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { Task } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { check } from '../../ipc/rules.ts'
import type { FleetClient } from '../fleet-client.ts'
import type { CommandContext, Runner } from './context.ts'
import { followTask } from './follow-task.ts'
import { addFromCatalogue, imageCatalogueCommands } from './image-catalogue-commands.ts'
import { imageGcCommand } from './image-gc-command.ts'
import { followImport } from './image-import.ts'
import { reference } from './options.ts'
import { invalid } from './outcome.ts'
import { sheet, table } from './table.ts'

const BUILD_MS = 30 * 60_000
/** A disk of some hundred GiB, read and converted. */
const IMPORT_MS = 8 * 3600_000

type StartBuild = (fleet: FleetClient, options: CallOptions) => Promise<{ task?: Task | undefined }>

interface AddOptions {
  catalogue?: string
  file?: string
  url?: string
  sha256?: string
  arch: string
  kind: string
  format?: string
  default?: boolean
  ifAbsent?: boolean
}

export function imageCommands(root: Command, run: Runner): void {
  const image = root.command('image').description('what VMs are made of')
  run(image.command('list').description('all images'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).images.listImages({}, { signal: context.signal })
    await context.answer(ListImagesResponseSchema, answer, () =>
      table(
        ['NAME', 'KIND', 'ARCH', 'DEFAULT', 'USED BY', 'SHA256', 'FROM'],
        answer.images.map((i) => [
          i.name,
          i.kind,
          i.arch,
          i.isDefault ? 'yes' : '',
          String(i.usedBy),
          i.sha256.slice(0, 12),
          i.url || 'this store',
        ]),
      ),
    )
  })
  run(
    image
      .command('add <name>')
      .description(
        'an image hosts fetch by URL, a disk file of this computer (qcow2, raw, or an OVA with one disk), or one of the catalogue',
      )
      .option('--catalogue <id>', 'a cloud image whose digest its publisher says now, see eitri image catalogue')
      .option('--file <file>', 'a disk file of this computer, copied into this store')
      .option('--url <url>', 'where hosts fetch it, with --sha256')
      .option('--sha256 <hex>', 'digest of its bytes')
      .option('--arch <arch>', 'x86_64 or aarch64', 'x86_64')
      .option('--kind <kind>', 'disk or kernel', 'disk')
      .option('--format <format>', 'qcow2 or raw: refused unless its content is that')
      .option('--default', 'take it for VMs that name no image')
      .option('--if-absent', 'be content when an image of this name is there'),
    addImage,
  )
  const build = (command: string, description: string, start: StartBuild) =>
    run(image.command(command).description(description), async (context) => {
      context.deadline(BUILD_MS)
      const fleet = await context.fleet()
      const { task } = await start(fleet, { signal: context.signal })
      if (!task) throw new Fault('app/bug', 'bug', { message: 'no task was started' })
      const { resultId, subject } = await followTask(context, fleet, task)
      const { images } = await fleet.images.listImages({}, { signal: context.signal })
      const built = images.find((i) => i.id === resultId) ?? images.find((i) => i.name === subject)
      if (!built) throw new Fault('image/not-found', 'permanent', { image: subject })
      await context.answer(ImageSchema, built, () => imageSheet(built))
    })
  build('build-tiny', 'the tiny guest, built here from packages', (fleet, options) =>
    fleet.images.buildTinyImage({}, options),
  )
  build('build-debian', 'Debian 12 with systemd and cloud-init, built here from packages', (fleet, options) =>
    fleet.images.buildDebianImage({}, options),
  )
  imageCatalogueCommands(image, run)
  imageGcCommand(image, run)
  run(image.command('remove <name>').description('take an unused image out'), async (context, name: string) => {
    context.deadline()
    await (await context.fleet()).images.removeImage({ image: reference('image', name) }, { signal: context.signal })
    if (context.json) await context.document({ removed: name })
    else await context.say(`Image ${name} removed.\n`)
  })
}

async function addImage(context: CommandContext, name: string, options: AddOptions): Promise<void> {
  const { file, url = '', sha256 = '', arch, kind, ifAbsent = false, default: makeDefault = false } = options
  if (options.catalogue !== undefined) {
    if (file !== undefined || url !== '' || sha256 !== '')
      throw invalid('catalogue', options.catalogue, 'give --catalogue, --file, or --url with --sha256')
    const added = await addFromCatalogue(context, { entry: options.catalogue, name, makeDefault })
    return await context.answer(added.schema, added.image, () => imageSheet(added.image))
  }
  if (file !== undefined) {
    if (url !== '' || sha256 !== '') throw invalid('file', file, 'give --file, or --url with --sha256, not both')
    if (kind !== 'disk' || options.format !== undefined)
      throw invalid('file', file, 'what it is is found out from its content; leave out --kind and --format')
    context.deadline(IMPORT_MS)
    const request = { name, path: resolve(file), arch }
    check('importImage', request)
    const fleet = await context.fleet()
    const imported = await followImport(context, fleet, { ...request, ifAbsent })
    const { image = imported } = makeDefault
      ? await fleet.images.setDefaultImage({ image: imported.id }, { signal: context.signal })
      : {}
    return await context.answer(ImageSchema, image, () => imageSheet(image))
  }
  if (url === '') throw invalid('url', '', 'give --url with --sha256, --file, or --catalogue')
  context.deadline()
  const checked = check('addImage', { name, url, sha256, arch, kind, format: options.format ?? '' })
  const answer = await (await context.fleet()).images.addImage(
    { ...checked, makeDefault, ifAbsent },
    { signal: context.signal },
  )
  if (answer.image) await context.answer(ImageSchema, answer.image, () => imageSheet(answer.image!))
}

const imageSheet = (i: Image): string =>
  sheet([
    ['name', i.name],
    ['id', i.id],
    ['kind', i.kind],
    ['format', i.format],
    ['arch', i.arch],
    ['sha256', i.sha256],
    ['size', i.sizeBytes === undefined ? '' : `${i.sizeBytes} bytes`],
    ['from', i.url || 'this store'],
    ['default', i.isDefault ? 'yes' : 'no'],
    ['description', i.description],
  ])
