import { AUDIT_RESULTS } from '../../../ipc/audit-results.ts'
import { BETWEEN_VALUES, type FilterRecord } from '../../lib/filter.ts'
import { countValues } from '../../lib/filter-suggest.ts'
import type { Route } from '../../routes.ts'
import type { FleetSnapshot } from '../../state/fleet-store.ts'
import { clockFilterRecord, guestRow, hasClock, hostRow } from '../clock/view-model.ts'
import { hostFilterRecord } from '../hosts/host-filter.ts'
import { imageFilterRecord } from '../images/view-model.ts'
import { portFilterRecord } from '../ports/view-model.ts'
import { vmFilterRecord } from '../vms/view-model.ts'

/** More than any fleet has: what is counted is all there is. */
const MAX_ROWS = 20_000

function* recordsOf(page: Route['page'], fleet: FleetSnapshot, nowMs: number): Generator<FilterRecord> {
  switch (page) {
    case 'vms':
      for (const vm of fleet.vms.values()) yield vmFilterRecord(vm, nowMs)
      break
    case 'hosts':
      for (const host of fleet.hosts.values()) yield hostFilterRecord(host, nowMs)
      break
    case 'images':
      for (const image of fleet.images.values()) yield imageFilterRecord(image, (id) => fleet.hosts.get(id)?.name ?? id)
      break
    case 'activity':
      for (const { name } of fleet.vms.values()) yield { vm: name }
      for (const { name } of fleet.hosts.values()) yield { host: name }
      for (const { kind, state } of fleet.tasks.values()) yield { kind, state }
      for (const result of AUDIT_RESULTS) yield { result }
      break
    case 'ports':
      for (const port of fleet.ports.values()) yield portFilterRecord(port)
      break
    case 'clock':
      for (const host of fleet.hosts.values()) yield clockFilterRecord(hostRow(host, nowMs))
      for (const vm of fleet.vms.values()) if (hasClock(vm)) yield clockFilterRecord(guestRow(vm, nowMs))
      break
  }
}

/** Columns that hold several values, and what stands between them. */
const MANY = new Map([
  ['label', BETWEEN_VALUES],
  ['ip', ' '],
])

/** State words of which the rest is a time or a step: all of them are one value. */
const OPEN_ENDED = /^(Unknown since|In quarantine until|Creating|Unreachable) .*/

const asTyped = (text: string) => text.replace(OPEN_ENDED, '$1').replace(/ (since|until)$/, '')

/** The values a column of a page's list has now, counted. */
export function listValues(page: Route['page'], field: string, fleet: FleetSnapshot, nowMs: number) {
  const values: string[] = []
  let rows = 0
  for (const record of recordsOf(page, fleet, nowMs)) {
    const text = record[field] ?? ''
    const between = MANY.get(field)
    values.push(...(between ? text.split(between) : [asTyped(text)]))
    if (++rows >= MAX_ROWS) break
  }
  return countValues(values)
}
