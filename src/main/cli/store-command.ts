import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import {
  type GetStoreResponse,
  GetStoreResponseSchema,
  type RebuildStoreResponse,
  RebuildStoreResponseSchema,
} from '../../ipc/gen/eitri/fleet/v1/store_pb.js'
import type { Runner } from './context.ts'
import { agreed } from './prompts.ts'
import { table } from './table.ts'

const REBUILD_MS = 5 * 60_000
const QUESTION =
  'Make a new database of what can be read and what the hosts hold? The damaged one is kept; VMs keep running.'

/** `eitri store`, and `eitri store rebuild`. */
export function storeCommand(root: Command, run: Runner): void {
  const store = root
    .command('store')
    .description('the database of the fleet: what is wrong with it, and its copies')
    .addHelpText('after', '\nWithout a command: where it is, its copies and what is wrong with it.')
  run(store, async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).store.getStore({}, { signal: context.signal })
    await context.answer(GetStoreResponseSchema, answer, () => words(answer))
  })
  const rebuild = store
    .command('rebuild')
    .description('a new database in place of a damaged one, of what the hosts hold')
    .option('--yes', 'do not ask')
  run(rebuild, async (context, options: { yes?: boolean }) => {
    context.deadline(REBUILD_MS)
    await agreed(context, QUESTION, options.yes ?? false)
    const answer = await (await context.fleet()).store.rebuildStore({}, { signal: context.signal })
    await context.answer(RebuildStoreResponseSchema, answer, () => rebuilt(answer))
  })
}

function words({ path, schema, sizeBytes, copies, hostsAhead, lost, ...store }: GetStoreResponse): string {
  const head = `${path}: schema ${schema}, ${sizeBytes} bytes, ${store.writes} rows written since the app started.\n`
  const rows = copies.map((copy) => [
    timestampDate(copy.madeAt ?? ({ seconds: 0n, nanos: 0 } as never)).toISOString(),
    String(copy.schema),
    String(copy.sizeBytes),
    copy.path,
  ])
  return [
    head,
    ...problem(store.problem, store.readOnlyReason, hostsAhead).map((line) => `${line}\n`),
    ...lost.map((line) => `  ${line}\n`),
    rows.length === 0
      ? 'There is no copy yet; "eitri backup FILE" makes one.\n'
      : table(['COPY MADE', 'SCHEMA', 'BYTES', 'PATH'], rows),
  ].join('')
}

function problem(word: string, reason: string, hostsAhead: readonly string[]): string[] {
  const ahead = hostsAhead.map(
    (host) =>
      `${host} has seen newer data than this: nothing is sent to it until "eitri host takeover ${host} --from-older".`,
  )
  if (word === 'damaged')
    return [
      `It is damaged (${reason}) and open for reading only; nothing is sent to hosts, their VMs keep running.`,
      'Make a new one of what the hosts hold with "eitri store rebuild", or stop the app and put a copy back with "eitri restore FILE".',
    ]
  if (word === 'disk_full')
    return [`Nothing can be written (${reason}). It goes on by itself once there is room.`, ...ahead]
  return ahead
}

const rebuilt = ({ keptAt, notes }: RebuildStoreResponse): string =>
  [
    'A new database is in use.',
    ...(keptAt === '' ? [] : [`The damaged one is kept as ${keptAt}.`]),
    ...notes.map((note) => `  ${note}`),
    '',
  ].join('\n')
