import { type Command, Option } from 'commander'
import { ListTemplatesResponseSchema, type Template, TemplateSchema } from '../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { check } from '../../ipc/rules.ts'
import type { CommandContext, Runner } from './context.ts'
import { reference } from './options.ts'
import { invalid } from './outcome.ts'
import { sheet, table } from './table.ts'

interface CreateOptions {
  vm?: string
  from?: string
  description?: string
  ifAbsent?: boolean
}

export function templateCommands(root: Command, run: Runner): void {
  const template = root.command('template').description('how VMs are made, under names')
  run(template.command('list').description('all templates'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).templates.listTemplates({}, { signal: context.signal })
    await context.answer(ListTemplatesResponseSchema, answer, () =>
      table(
        ['NAME', 'IMAGE', 'VCPUS', 'MEM MB', 'DISK GB', 'DESCRIPTION'],
        answer.templates.map((t) => [
          ...[t.name, t.image || t.imageUrl, String(t.vcpus), String(t.memMb), String(t.diskGb), t.description],
        ]),
      ),
    )
  })
  run(
    template
      .command('create <name>')
      .description('keep how a VM is made, without its keys; its disk is not in it')
      .option('--vm <name>', 'the VM')
      .addOption(new Option('--from <name>', 'the same').hideHelp())
      .option('--description <text>', 'for people')
      .option('--if-absent', 'be content when a template of this name is there'),
    createTemplate,
  )
  run(
    template.command('remove <name>').description('forget it; VMs made by it stay'),
    async (context, name: string) => {
      context.deadline()
      const request = { template: reference('template', name) }
      await (await context.fleet()).templates.removeTemplate(request, { signal: context.signal })
      if (context.json) await context.document({ removed: name })
      else await context.say(`Template ${name} removed.\n`)
    },
  )
}

async function createTemplate(context: CommandContext, name: string, options: CreateOptions): Promise<void> {
  context.deadline()
  const vm = options.vm ?? options.from
  if (vm === undefined) throw invalid('vm', '', 'name the VM it is made from with --vm')
  const request = { name, vm: reference('vm', vm), description: options.description ?? '' }
  check('createTemplate', request)
  const { templates } = await context.fleet()
  const asked = { ...request, ifAbsent: options.ifAbsent ?? false }
  const { template, created } = await templates.createTemplate(asked, { signal: context.signal })
  if (template) await context.answer(TemplateSchema, template, () => templateSheet(template), { created })
}

const templateSheet = (t: Template): string =>
  sheet([
    ['name', t.name],
    ['id', t.id],
    ['image', t.image || t.imageUrl],
    ['size', `${t.vcpus} vCPU, ${t.memMb} MiB, ${t.diskGb} GiB`],
    ['network', t.network],
    ['user-data', t.cloudInitBytes === 0 ? '' : `${t.cloudInitBytes} bytes`],
    ['description', t.description],
  ])
