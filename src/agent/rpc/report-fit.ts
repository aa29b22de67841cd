import { clone, toBinary } from '@bufbuild/protobuf'
import { type Report, ReportSchema } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmRow } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { LIMITS } from '../../ipc/units.ts'

const NOTICE = 'The report was too large; specs of unowned and quarantined VMs were left out.'

/** A report that fits one message: whole when it does, else without specs and then words that are only for people. */
export function fitReport(report: Report, limit: number = LIMITS.agentMessageBytes): Report {
  if (toBinary(ReportSchema, report).length <= limit) return report
  const small = clone(ReportSchema, report)
  for (const row of small.vms) delete row.spec
  for (const row of small.quarantined) row.specJson = ''
  if (toBinary(ReportSchema, small).length > limit) for (const row of small.vms) dropWords(row)
  small.notices = [NOTICE, ...small.notices].slice(0, 20)
  return small
}

function dropWords({ guest, clock }: VmRow): void {
  if (guest) Object.assign(guest, { modules: [], fleetPayloadDetail: '' })
  if (clock?.lastAct) clock.lastAct.detail = ''
}
