import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { ListAuditResponseSchema } from '../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { Runner } from './context.ts'
import { reference, since, wholeNumber } from './options.ts'
import { table } from './table.ts'

interface AuditOptions {
  vm?: string
  host?: string
  since?: string
  limit?: number
}

export function auditCommand(root: Command, run: Runner): void {
  run(
    root
      .command('audit')
      .description('who changed what, newest first')
      .option('--vm <name>', 'about this VM')
      .option('--host <name>', 'about this host')
      .option('--since <when>', 'RFC 3339, or how long ago, e.g. 2h')
      .option('--limit <n>', 'at most this many', wholeNumber),
    async (context, options: AuditOptions) => {
      context.deadline()
      const request = {
        vm: options.vm === undefined ? '' : reference('vm', options.vm),
        host: options.host === undefined ? '' : reference('host', options.host),
        limit: options.limit ?? 0,
        ...(options.since === undefined ? {} : { since: timestampFromDate(since(options.since, context.parts.now())) }),
      }
      const answer = await (await context.fleet()).audit.listAudit(request, { signal: context.signal })
      await context.answer(ListAuditResponseSchema, answer, () =>
        table(
          ['AT', 'ACTION', 'VM', 'HOST', 'DETAIL'],
          answer.entries.map((e) => [
            e.at ? timestampDate(e.at).toISOString() : '',
            e.action,
            e.vmId,
            e.hostId,
            Object.entries(e.detail)
              .map(([k, v]) => `${k}=${v}`)
              .join(' '),
          ]),
        ),
      )
    },
  )
}
