import type { Command } from 'commander'
import { clockHeadline } from '../../ipc/clock-headline.ts'
import { clockText, guestClockState, hostClockState, sourceWords } from '../../ipc/clock-words.ts'
import { Fault } from '../../ipc/faults.ts'
import { GuestClockSchema, HostClockSchema } from '../../ipc/gen/eitri/fleet/v1/clock_pb.js'
import type { Host } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { contractJson } from '../contract-json.ts'
import { hostSync, lastAct, moment, offsetCell } from './clock-words.ts'
import type { CommandContext, Runner } from './context.ts'
import { reference } from './options.ts'
import { table } from './table.ts'

/** The guest is asked, waited for and measured again. */
const SET_MS = 60_000

export function clockCommands(root: Command, run: Runner): void {
  const clock = root.command('clock').description("hosts' and guests' clocks, and which one is wrong")
  run(clock.argument('[name]', 'of one host with its guests, or of one VM'), showClocks)
  run(
    clock.command('set <vm>').description("set a guest's clock now, as far as its policy leaves that to the host"),
    setClock,
  )
}

async function showClocks(context: CommandContext, name: string | undefined): Promise<void> {
  context.deadline()
  const fleet = await context.fleet()
  const { signal } = context
  const [{ hosts }, { vms }] = await Promise.all([
    fleet.hosts.listHosts({}, { signal }),
    fleet.vms.listVms({}, { signal }),
  ])
  const chosen = name === undefined ? { hosts, guests: vms.filter(isOn) } : meant(hosts, vms, reference('vm', name))
  const headline = clockHeadline(
    chosen.hosts.filter(({ link, stale }) => link === 'connected' && !stale),
    chosen.guests.filter((vm) => isOn(vm) && !vm.hostUnknown),
  )
  if (context.json) {
    await context.document({
      summary: headline.text,
      hosts: chosen.hosts.map(hostDocument),
      vms: chosen.guests.map(guestDocument),
    })
    return
  }
  const rows = [...chosen.hosts.map(hostRow), ...chosen.guests.map(guestRow)]
  const head = ['NAME', 'ON', 'CLOCK', 'OFFSET', 'SOURCE', 'STATE', 'LAST ACT', 'AS OF']
  await context.say(`${table(head, rows)}\n${[headline.text, headline.next].filter(Boolean).join(' ')}\n`)
}

const isOn = (vm: Vm): boolean => vm.power === 'running' && vm.deletedAt === undefined

/** A host with its guests, else the VM: of both with one name, both. Raises vm/not-found. */
function meant(hosts: Host[], vms: Vm[], ref: string): { hosts: Host[]; guests: Vm[] } {
  const named = ({ id, name }: { id: string; name: string }) => id === ref || name === ref
  const found = hosts.filter(named)
  const guests = vms.filter((vm) =>
    found.some(({ id }) => id === vm.hostId) ? isOn(vm) : named(vm) && vm.deletedAt === undefined,
  )
  if (found.length === 0 && guests.length === 0) throw new Fault('vm/not-found', 'permanent', { vm: ref })
  return { hosts: found, guests }
}

const known = (at: string, old: boolean) => (at === '' ? '' : old ? `${at} (last known)` : at)

function hostRow({ name, clock, link, stale }: Host): string[] {
  const state = hostClockState(clock)
  if (!clock) return [name, '', state.word, '', '', link === 'connected' ? '' : link, '', '']
  const measured = clock.measuredAt ? moment(clock.measuredAt) : ''
  const old = stale || link !== 'connected' || clock.stale
  return [
    name,
    '',
    state.word,
    offsetCell(clock.offsetUs),
    sourceWords(clock) || clock.detail,
    hostSync(clock),
    '',
    known(measured, old),
  ]
}

function guestRow({ name, hostName, clock, hostUnknown, clockPolicy }: Vm): string[] {
  const { word } = guestClockState(clock)
  const measured = clock?.measuredAt ? moment(clock.measuredAt) : ''
  const source = clock?.source.replace('_', ' ') || clock?.detail || ''
  const policy = clockPolicy === '' ? '' : `policy ${clockPolicy}`
  const asOf = known(measured, hostUnknown || (clock?.stale ?? false))
  return [name, hostName, word, offsetCell(clock?.offsetUs), source, policy, lastAct(clock), asOf]
}

const hostDocument = ({ id, name, clock }: Host) => ({
  ...{ id, name, word: hostClockState(clock).word },
  ...(clock ? { clock: contractJson(HostClockSchema, clock) } : {}),
})

const guestDocument = ({ id, name, hostId, hostName, hostUnknown, clockPolicy, clock }: Vm) => ({
  ...{ id, name, host_id: hostId, host_name: hostName, host_unknown: hostUnknown, clock_policy: clockPolicy },
  word: guestClockState(clock).word,
  ...(clock ? { clock: contractJson(GuestClockSchema, clock) } : {}),
})

async function setClock(context: CommandContext, name: string): Promise<void> {
  context.deadline(SET_MS)
  const request = { vm: reference('vm', name) }
  const { clock } = await (await context.fleet()).clock.setGuestClock(request, { signal: context.signal })
  if (!clock) return
  await context.answer(
    GuestClockSchema,
    clock,
    () => `${name}: ${clockText(guestClockState(clock))}, ${lastAct(clock)}.\n`,
  )
}
