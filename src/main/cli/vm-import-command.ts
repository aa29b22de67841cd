import { resolve } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import { check } from '../../ipc/rules.ts'
import { fleetFault } from '../fleet-client.ts'
import type { CommandContext, Runner } from './context.ts'
import { followImport } from './image-import.ts'
import { reference } from './options.ts'
import { answerVm } from './vm-answer.ts'
import { type CreateOptions, createOptions, createRequest, makeVm } from './vm-create-command.ts'

/** A disk of some hundred GiB, read, converted and sent. */
const IMPORT_MS = 8 * 3600_000

interface ImportOptions extends CreateOptions {
  imageName?: string
  arch?: string
}

export function importCommand(vm: Command, run: Runner): void {
  const command = vm
    .command('import <file> <name>')
    .description('make a VM of a disk file of this computer: qcow2, raw, VMDK in one file, or an OVA with one disk')
    .option('--image-name <name>', 'name of the image it becomes in this store; else that of the VM')
    .option('--arch <arch>', 'x86_64 or aarch64', 'x86_64')
  run(createOptions(command), importVm)
}

async function importVm(context: CommandContext, file: string, name: string, options: ImportOptions): Promise<void> {
  context.deadline(IMPORT_MS)
  const request = await createRequest(context, reference('vm', name), options)
  const image = { name: options.imageName ?? name, path: resolve(file), arch: options.arch ?? 'x86_64' }
  check('importImage', image)
  const fleet = await context.fleet()
  const known = options.ifAbsent ? await findVm(context, name) : undefined
  if (known) return await answerVm(context, known, name, { created: false })
  const { id } = await followImport(context, fleet, { ...image, ifAbsent: options.ifAbsent ?? false })
  try {
    await makeVm(context, fleet, { ...request, image: id }, options)
  } catch (error) {
    context.note(
      `The disk is in this store as image ${image.name}: "eitri vm create ${name} --image ${image.name}" goes on from here.`,
    )
    throw error
  }
}

async function findVm(context: CommandContext, name: string) {
  try {
    const { vm } = await (await context.fleet()).vms.getVm({ vm: name }, { signal: context.signal })
    return vm?.deletedAt ? undefined : vm
  } catch (error) {
    const fault = error instanceof Fault ? error : fleetFault(error, context.socketPath)
    if (fault.code === 'vm/not-found' || fault.code === 'vm/ambiguous') return undefined
    throw error
  }
}
