import { timestampDate } from '@bufbuild/protobuf/wkt'
import { type Vm, VmSchema } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { FleetClient } from '../fleet-client.ts'
import { guestClockLine, guestLines } from './clock-words.ts'
import type { CommandContext } from './context.ts'
import { heldBack } from './host-word.ts'
import { vmUse } from './metrics-words.ts'
import { reasonLine } from './outcome.ts'
import { sheet } from './table.ts'
import { failure, waitForState, waitState } from './wait-vm.ts'

export interface Waiting {
  wait?: boolean | string
}

/** The VM once it is in the state `--wait` names, `otherwise` when it names none; at once without `--wait`. */
export async function waited(
  context: CommandContext,
  fleet: FleetClient,
  vm: Vm | undefined,
  { wait }: Waiting,
  otherwise: 'ready' | 'stopped' | 'gone',
): Promise<Vm | undefined> {
  if (!vm || !wait) return vm
  return waitForState(fleet, vm.id, wait === true ? otherwise : waitState(wait), context.signal, true)
}

/** Says of a VM that was asked to change that its host is sent nothing; where it is waited for, the wait says it. */
export async function noteHeld(
  context: CommandContext,
  fleet: FleetClient,
  vm: Vm | undefined,
  { wait }: Waiting = {},
): Promise<void> {
  if (!vm?.hostId || wait) return
  const { host } = await fleet.hosts.getHost({ host: vm.hostId }, { signal: context.signal })
  const held = host && heldBack(host)
  if (held) context.note(reasonLine(held))
}

/** Prints the VM, with what else there is to say of it in its document; one that is gone is said to be gone. */
export async function answerVm(
  context: CommandContext,
  vm: Vm | undefined,
  ref = '',
  also: Record<string, boolean | string | string[]> = {},
): Promise<void> {
  if (vm) await context.answer(VmSchema, vm, () => vmSheet(vm), also)
  else if (context.json) await context.document({ name: ref, lifecycle: 'gone' })
  else await context.say(`${ref} is gone.\n`)
}

/** The state for people: where the host says nothing of its power, `lifecycle` only says what is desired. */
export function stateWord(v: Vm): string {
  if (v.hostUnknown) return `${v.lifecycle}?`
  const fromDesired = v.power === undefined && (v.lifecycle === 'ready' || v.lifecycle === 'stopped')
  return fromDesired ? 'unknown' : v.lifecycle
}

/** A number of its spec: nothing is known of one whose name is not. */
export const sizeWord = (v: Vm, size: number): string => (v.name === '' ? '?' : String(size))

/** Why it is as it is, in a word for the list. */
export function remark(v: Vm): string {
  if (v.detail) return v.detail
  if (v.unowned) return 'runs there, not in this fleet'
  if (v.quarantineEndsAt) return `in quarantine until ${timestampDate(v.quarantineEndsAt).toISOString()}`
  return stateWord(v) === 'unknown' ? `${v.hostName} says nothing of it; see "eitri host show ${v.hostName}"` : ''
}

/** '' = at once with its host, as most are. */
function autostartWord({ autostart, autostartDelayS, autostartOrder }: Vm): string {
  if (!autostart) return 'off'
  const delay = autostartDelayS === 0 ? '' : `${autostartDelayS} s after its host booted`
  return [delay, autostartOrder === 0 ? '' : `order ${autostartOrder}`].filter(Boolean).join(', ')
}

const vmSheet = (v: Vm): string =>
  sheet([
    ['name', v.name],
    ['id', v.id],
    ['state', stateWord(v)],
    ['power', v.hostUnknown ? `${v.power ?? 'unknown'} (last known)` : (v.power ?? 'unknown')],
    ['detail', v.reason === '' ? remark(v) : reasonLine(failure(v))],
    ['next', v.unowned && v.name !== '' ? `"eitri vm adopt ${v.name}" takes it into this fleet as it is` : ''],
    ['host', v.hostName],
    ['image', v.imageName],
    ['size', v.name === '' ? 'unknown' : `${v.vcpus} vCPU, ${v.memMb} MiB, ${v.diskGb} GiB`],
    ['needs restart', v.needsRestart.join(', ')],
    [
      'labels',
      Object.entries(v.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(', '),
    ],
    ['protected', v.protected ? 'yes' : ''],
    ['autostart', autostartWord(v)],
    ['takes', vmUse(v.metrics)],
    ['address', v.ip],
    [`on ${v.network}`, v.network === '' ? '' : v.networkIp || 'not known yet'],
    ['acceleration', v.acceleration],
    ['clock', guestClockLine(v)],
    ['clock policy', v.clockPolicy],
    ...guestLines(v),
  ])
