import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Command, InvalidArgumentError } from 'commander'
import { AUDIT_RESULTS } from '../../ipc/audit-results.ts'
import { type AuditEntry, ListAuditResponseSchema } from '../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { check } from '../../ipc/rules.ts'
import { exportAudit } from './audit-export.ts'
import { changeWord, tookWord } from './audit-words.ts'
import type { CommandContext, Runner } from './context.ts'
import { atMostThousand, longDuration, reference, since } from './options.ts'
import { invalid } from './outcome.ts'
import { table } from './table.ts'

const DAY_MS = 86_400_000

interface AuditOptions {
  vm?: string
  host?: string
  since?: string
  action?: string
  request?: string
  result?: string
  limit?: number
  beforeId?: string
  export?: string
  keep?: number
}

export function auditCommand(root: Command, run: Runner): void {
  run(
    root
      .command('audit')
      .description('who changed what, newest first')
      .option('--vm <name>', 'about this VM')
      .option('--host <name>', 'about this host')
      .option('--since <when>', 'RFC 3339, or how long ago, e.g. 2h')
      .option('--action <noun.verb>', 'of this kind, e.g. vm.stop; vm. = all of VMs')
      .option('--request <id>', 'of this request')
      .option('--result <word>', `that ended so: ${AUDIT_RESULTS.join(', ')}`)
      .option('--limit <n>', 'at most this many, up to 1000 (default 200)', atMostThousand)
      .option('--before-id <id>', 'older than this entry: the next page')
      .option('--export <file>', 'all of it, oldest first, as JSON Lines into a new file; - = standard output')
      .option('--keep <time>', 'say how long the trail is kept, e.g. 365d, or forever', keep),
    async (context, options: AuditOptions) => {
      if (options.keep !== undefined) return setRetention(context, options.keep)
      if (options.export !== undefined) return exportAll(context, options.export, options)
      return list(context, options)
    },
  )
}

async function list(context: CommandContext, options: AuditOptions): Promise<void> {
  context.deadline()
  const { beforeId } = check('auditPage', { beforeId: options.beforeId ?? '' })
  const request = { ...filterOf(context, options), limit: options.limit ?? 0, beforeId }
  const answer = await (await context.fleet()).audit.listAudit(request, { signal: context.signal })
  const none = answer.entries.length === 0
  const names = context.json && !none ? new Map<string, string>() : await namesHere(context)
  const sought = [options.vm, options.host].filter((ref) => ref !== undefined)
  const stranger = sought.find((ref) => ![...names].flat().includes(ref))
  if (none && stranger !== undefined)
    context.note(`Nothing named ${stranger} is known here; what is gone for good is found by its id.`)
  await context.answer(ListAuditResponseSchema, answer, () =>
    table(
      ['ID', 'AT', 'ACTION', 'BY', 'VM', 'HOST', 'RESULT', 'TOOK', 'DETAIL'],
      answer.entries.map((e) => [
        e.id,
        e.at ? timestampDate(e.at).toISOString() : '',
        e.action,
        who(e),
        names.get(e.vmId) ?? e.vmId,
        names.get(e.hostId) ?? e.hostId,
        e.result,
        e.tookMs === undefined ? '' : tookWord(Number(e.tookMs)),
        changeWord(e),
      ]),
    ),
  )
  if (answer.nextBeforeId !== '' && !context.json) context.note(`More: --before-id ${answer.nextBeforeId}`)
}

/** Names of VMs and hosts by their ids. */
async function namesHere(context: CommandContext): Promise<Map<string, string>> {
  const { vms, hosts } = await context.fleet()
  const options = { signal: context.signal }
  const [known, machines] = await Promise.all([vms.listVms({}, options), hosts.listHosts({}, options)])
  return new Map([...known.vms, ...machines.hosts].map(({ id, name }) => [id, name]))
}

async function exportAll(context: CommandContext, file: string, options: AuditOptions): Promise<void> {
  context.deadline(null)
  if (options.limit !== undefined || options.beforeId !== undefined)
    throw invalid('export', file, 'it is all of it: leave --limit and --before-id out')
  const fleet = await context.fleet()
  const filter = filterOf(context, options)
  const pages = () => fleet.audit.exportAudit({ filter }, { signal: context.signal, timeoutMs: 0 })
  const entries = await exportAudit(pages, file, context.io)
  if (file === '-') return
  if (context.json) await context.document({ file, entries })
  else await context.say(`${entries} entries written to ${file}.\n`)
}

async function setRetention(context: CommandContext, days: number): Promise<void> {
  context.deadline()
  check('auditRetention', { days })
  const answer = await (await context.fleet()).audit.setAuditRetention({ days }, { signal: context.signal })
  if (context.json) await context.document({ days: answer.days })
  else
    await context.say(
      answer.days === 0 ? 'The trail is kept for ever.\n' : `The trail is kept for ${answer.days} days.\n`,
    )
}

function filterOf({ parts }: CommandContext, options: AuditOptions) {
  const filter = {
    vm: options.vm === undefined ? '' : reference('vm', options.vm),
    host: options.host === undefined ? '' : reference('host', options.host),
    action: options.action ?? '',
    requestId: options.request ?? '',
    result: options.result ?? '',
  }
  check('auditFilter', filter)
  return {
    ...filter,
    ...(options.since === undefined ? {} : { since: timestampFromDate(since(options.since, parts.now())) }),
  }
}

function keep(text: string): number {
  if (text === 'forever') return 0
  const ms = longDuration(text)
  if (ms % DAY_MS !== 0) throw new InvalidArgumentError('use whole days, e.g. 365d, or forever.')
  return ms / DAY_MS
}

const who = ({ user, client }: AuditEntry) => [user, client].filter((part) => part !== '').join(', ')
