import { resolve } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import { needed } from './backup-command.ts'
import type { RestoredStore, Runner } from './context.ts'

/** `eitri restore FILE`: while no control plane runs. */
export function restoreCommand(root: Command, run: Runner): void {
  const command = root
    .command('restore <file>')
    .description('put a copy of the database in its place while the app does not run; the one before is kept')
  run(command, async (context, file: string) => {
    const { restore } = context.parts
    if (!restore) throw new Fault('app/part-missing', 'permanent', { part: 'The restore of a database' })
    const restored = await restore(context.options.dataDir, resolve(file))
    const { path, keptAt, schema, hosts, vms, needs } = restored
    if (context.json) return context.document({ path, kept_at: keptAt, schema, hosts, vms, needs })
    return context.say(words(file, restored))
  })
}

function words(file: string, { path, keptAt, schema, hosts, vms, needs }: RestoredStore): string {
  return [
    `${path} is ${file} now: schema ${schema}, ${hosts} hosts, ${vms} VMs.`,
    ...(keptAt === '' ? [] : [`The one before is kept as ${keptAt}.`]),
    'Start the app. A host that has seen newer data since the copy is sent nothing until you decide; "eitri store" names it.',
    ...needed(needs),
    '',
  ].join('\n')
}
