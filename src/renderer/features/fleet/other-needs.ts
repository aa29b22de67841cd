import { offsetWords } from '../../../ipc/clock-words.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { Port } from '../../../ipc/gen/eitri/fleet/v1/port_pb.js'
import type { Task } from '../../../ipc/gen/eitri/fleet/v1/task_pb.js'
import { hrefOf } from '../../routes.ts'
import { isCurrent } from '../hosts/view-model.ts'
import { leadsTo } from '../ports/view-model.ts'
import { currentStep, taskTitle } from '../tasks/view-model.ts'
import { type FleetFacts, type Need, type NeedAct, type NeedObject, need } from './need.ts'

const DATA = hrefOf({ page: 'settings', part: 'data' })
const CLOCK = hrefOf({ page: 'clock', filter: '' })
const CAS = hrefOf({ page: 'trust', tab: 'authorities' })

/** Of this app itself: its store, its clock and its authorities. */
export function appNeeds({ hosts, storeProblem, cas }: FleetFacts): Need[] {
  const app = (name: string, href: string): NeedObject => ({ kind: 'app', id: 'app', name, href })
  const needs: Need[] = []
  if (storeProblem === 'damaged')
    needs.push(need('store-damaged', app("This app's", DATA), 'VMs keep running.', { kind: 'open', href: DATA }))
  if (storeProblem === 'disk_full')
    needs.push(need('store-full', app("This app's", DATA), 'No change is taken.', { kind: 'open', href: DATA }))
  const against = hosts.filter((host) => isCurrent(host) && host.clock?.wrong === 'app' && !host.clock.stale)
  const offset = against[0]?.clock?.appOffsetUs
  if (offset !== undefined)
    needs.push(
      need('app-clock', app("This computer's", CLOCK), `${offsetWords(-offset)}, by the hosts.`, {
        kind: 'open',
        href: CLOCK,
      }),
    )
  for (const ca of cas ?? [])
    if (ca.problem !== '' && ca.state === 'signing')
      needs.push(
        need('ca-unusable', { kind: 'ca', id: ca.id, name: ca.name, href: CAS }, printable(ca.problem), {
          kind: 'open',
          href: CAS,
        }),
      )
  return needs
}

/** A task that asks waits for a person, and for nothing else. */
export function taskNeeds(task: Task): Need[] {
  if (task.state !== 'asking') return []
  const href =
    task.kind === 'add_host'
      ? hrefOf({ page: 'add-host', taskId: task.id })
      : hrefOf({ page: 'activity', filter: 'state:asking', view: 'tasks' })
  // Where a host is added, its question stands beside the steps that led to it.
  const act: NeedAct = task.kind === 'add_host' ? { kind: 'open', href } : { kind: 'answer', task }
  const object: NeedObject = { kind: 'task', id: task.id, name: taskTitle(task), href }
  return [need('task-asks', object, currentStep(task)?.name ?? '', act)]
}

export function portNeeds(port: Port): Need[] {
  if (port.state !== 'failed' || port.hostUnknown) return []
  const href = hrefOf({ page: 'ports', filter: `vm:${port.vmName}` })
  const object: NeedObject = { kind: 'port', id: port.id, name: leadsTo(port), href }
  return [need('port-failed', object, printable(port.reason), { kind: 'open', href })]
}
