import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { hostNeeds } from './host-needs.ts'
import type { Cause, FleetFacts, Need, NeedObject } from './need.ts'
import { appNeeds, portNeeds, taskNeeds } from './other-needs.ts'
import { vmNeeds } from './vm-needs.ts'

interface CauseEntry {
  tone: 'bad' | 'warn'
  /** Said after the name of the one thing it is about. */
  what: string
  /** The one button. */
  label: string
  /** Where all things with this cause are listed, for when they are many. */
  all: string
}

const hosts = (filter: string) => hrefOf({ page: 'hosts', filter })
const vms = (filter: string) => hrefOf({ page: 'vms', filter })
const NETWORKS = hrefOf({ page: 'networks' })
const CLOCK = hrefOf({ page: 'clock', filter: '' })
const DATA = hrefOf({ page: 'settings', part: 'data' })
const SSH_CAS = hrefOf({ page: 'trust', tab: 'authorities' })
const GUESTS = hrefOf({ page: 'trust', tab: 'guests' })
const PORTS = hrefOf({ page: 'ports', filter: 'state:failed' })
const TASKS = hrefOf({ page: 'activity', filter: 'state:asking', view: 'tasks' })

const bad = (what: string, label: string, all: string): CauseEntry => ({ tone: 'bad', what, label, all })
const warn = (what: string, label: string, all: string): CauseEntry => ({ tone: 'warn', what, label, all })

/** Everything that can need a person, the most pressing first: the order of the table is the order of the list. */
export const CAUSES: Record<Cause, CauseEntry> = {
  'store-damaged': bad('data is damaged and open for reading only', 'Review', DATA),
  'store-full': bad('data cannot be written: its disk is full', 'Review', DATA),
  'key-changed': bad('answered with a different host key', 'Compare keys', hosts('state:"key changed"')),
  'task-asks': warn('waits for your answer', 'Answer', TASKS),
  unreachable: bad('does not answer', 'Try now', hosts('state:unreachable')),
  'vm-decision': bad('needs a decision', 'Decide', vms('state:decision')),
  'vm-crashed': bad('crashed', 'Open console', vms('state:crashed')),
  'vm-paused': bad('is paused by an error', 'See why', vms('state:paused')),
  'newer-data': warn("has seen newer data than this app's", 'Decide', hosts('state:degraded')),
  'held-by-other': warn('is held by another control plane', 'Take over', hosts('state:held')),
  'sign-in': warn('needs you to sign in', 'Sign in', hosts('state:sign-in')),
  'key-new': warn('answered with a key nobody trusted yet', 'Compare keys', hosts('state:"key not trusted"')),
  'identity-changed': bad('answers with the identity of another agent', 'See why', hosts('state:"agent missing"')),
  'agent-missing': bad('answers, but its agent does not', 'See why', hosts('state:"agent missing"')),
  'agent-outdated': warn('has an agent this app cannot steer', 'Update agent', hosts('agent:outdated')),
  'credential-ended': bad('no longer accepts this app', 'See how', hosts('')),
  'disk-full': bad('has almost no disk left', 'Review', hosts('')),
  'network-blocked': bad('keeps its guests from their network', 'Review', NETWORKS),
  'network-down': bad('has a network that is not whole', 'Review', NETWORKS),
  'app-clock': bad('clock is the wrong one', 'See clocks', CLOCK),
  'host-clock': bad('clock is wrong', 'See clocks', CLOCK),
  'guest-clock': bad('clock is off', 'Re-sync', CLOCK),
  'vm-start-failed': warn('does not start', 'See why', vms('state:starting')),
  'vm-stop-failed': warn('does not stop', 'See why', vms('state:stopping')),
  'vm-no-room': warn('waits for room on its host', 'See why', vms('state:starting')),
  'vm-trouble': warn('runs with trouble', 'See why', vms('state:running')),
  'payload-failed': warn('did not take its first-boot settings', 'See errors', vms('')),
  'port-failed': warn('could not be published', 'Review', PORTS),
  'ca-unusable': bad('cannot sign', 'Review', SSH_CAS),
  'certificate-ended': bad('host certificate has ended', 'Review', GUESTS),
  'revocations-failed': warn('did not take the list of revoked certificates', 'See why', GUESTS),
  'certificate-ending': warn('host certificate ends soon', 'Review', GUESTS),
  'credential-ending': warn('stops accepting this app soon', 'See how', hosts('')),
  'silent-agent': warn('is connected, but does not report', 'See agent', hosts('state:degraded')),
  'parts-missing': warn('lacks parts that VMs need', 'See which', hosts('state:degraded')),
  'disk-low': warn('is running out of disk', 'Review', hosts('')),
  'clock-unkept': warn('clock is kept by nobody', 'See clocks', CLOCK),
  'upgrade-failed': warn('went back to its old agent', 'See why', hosts('')),
  'agent-behind': warn('has an older agent than this app brings', 'Update agent', hosts('agent:outdated')),
  unowned: warn('runs, but belongs to no fleet', 'Adopt', vms('state:unowned')),
}

const RANK = new Map((Object.keys(CAUSES) as Cause[]).map((cause, i) => [cause, i]))
const rankOf = ({ cause }: Need): number => RANK.get(cause) ?? RANK.size

/** More things with one cause than this are one line: a list of forty is read by nobody. */
const MAX_SAME = 3

/** Several things with the same cause, told in one line. */
export interface NeedGroup {
  key: string
  cause: Cause
  needs: readonly Need[]
}

export type NeedLine = Need | NeedGroup

export const isGroup = (line: NeedLine): line is NeedGroup => 'needs' in line

const MINUTE_MS = 60_000
const kept = new WeakMap<Vm, { minute: number; needs: readonly Need[] }>()

/** Rows keep their identity while nothing of them changes: of ten thousand, most were judged before. Dates move by days. */
function keptVmNeeds(vm: Vm, facts: FleetFacts): readonly Need[] {
  const minute = Math.floor(facts.nowMs / MINUTE_MS)
  const known = kept.get(vm)
  if (known?.minute === minute) return known.needs
  const needs = vmNeeds(vm, facts)
  kept.set(vm, { minute, needs })
  return needs
}

/** What a person has to look at or decide, the most pressing first, then by name. */
export function needsOf(facts: FleetFacts): Need[] {
  const all = [
    ...appNeeds(facts),
    ...facts.tasks.flatMap(taskNeeds),
    ...facts.hosts.flatMap((host) => hostNeeds(host, facts)),
    ...facts.vms.flatMap((vm) => keptVmNeeds(vm, facts)),
    ...facts.ports.flatMap(portNeeds),
  ]
  return all.sort((a, b) => rankOf(a) - rankOf(b) || a.object.name.localeCompare(b.object.name))
}

/** The list as it is shown: few things by themselves, many with one cause together. */
export function linesOf(needs: readonly Need[]): NeedLine[] {
  const by = Map.groupBy(needs, ({ cause }) => cause)
  return [...by].flatMap(([cause, same]): NeedLine[] =>
    same.length <= MAX_SAME ? same : [{ key: cause, cause, needs: same }],
  )
}

const NOUNS: Record<NeedObject['kind'], [one: string, many?: string]> = {
  app: ['app'],
  host: ['host'],
  vm: ['VM'],
  port: ['port'],
  task: ['task'],
  ca: ['CA'],
}

/** `12 hosts` */
export function groupName({ needs }: NeedGroup): string {
  const [one, many] = NOUNS[needs[0]?.object.kind ?? 'host']
  return plural(needs.length, one, many)
}

const NAMED = 3

/** `edge-1, edge-2, edge-3 and 9 more` */
export function groupNames({ needs }: NeedGroup): string {
  const names = needs.slice(0, NAMED).map(({ object }) => object.name)
  return `${names.join(', ')} and ${needs.length - names.length} more`
}

/** `46 of 48 hosts answering` and what follows from the list. */
export function healthWords(hosts: { answering: number; all: number }, needs: number): string {
  const said = needs === 0 ? 'nothing needs you' : `${plural(needs, 'thing needs', 'things need')} you`
  return `${answeringWords(hosts)} · ${said}`
}

function answeringWords({ answering, all }: { answering: number; all: number }): string {
  if (all === 1) return answering === 1 ? 'Your host is answering' : 'Your host is not answering'
  if (answering < all) return `${answering} of ${all} hosts answering`
  return all === 2 ? 'Both hosts answering' : `All ${all} hosts answering`
}
