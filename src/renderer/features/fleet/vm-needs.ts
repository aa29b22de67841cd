import { lookup } from '../../../ipc/base/lookup.ts'
import { breaksAt, guestClockState } from '../../../ipc/clock-words.ts'
import { printable } from '../../../ipc/fault-text.ts'
import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { formatDay } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import { hrefOf, type VmTab } from '../../routes.ts'
import { hasClock, isClockOld, whyNotSettable } from '../clock/view-model.ts'
import { vmTrouble } from '../vms/view-model.ts'
import { SOON_MS } from './host-needs.ts'
import { type Cause, type FleetFacts, type Need, type NeedAct, type NeedObject, need } from './need.ts'

const objectOf = ({ id, name }: Vm): NeedObject => ({
  ...{ kind: 'vm', id, name },
  href: hrefOf({ page: 'vm', id, tab: 'overview' }),
})

const open = ({ id }: Vm, tab: VmTab): NeedAct => ({ kind: 'open', href: hrefOf({ page: 'vm', id, tab }) })

/** Reasons with a line of their own. A VM that failed for any other needs a decision; `none` mends itself. */
const REASONS: Record<string, { cause: Cause; tab: VmTab } | 'none'> = {
  'vm/exited': { cause: 'vm-crashed', tab: 'console' },
  'vm/panicked': { cause: 'vm-crashed', tab: 'console' },
  'vm/hung': { cause: 'vm-trouble', tab: 'overview' },
  'vm/resetting': { cause: 'vm-trouble', tab: 'console' },
  'vm/io-error': { cause: 'vm-paused', tab: 'overview' },
  'vm/start-failed': { cause: 'vm-start-failed', tab: 'overview' },
  'vm/stop-failed': { cause: 'vm-stop-failed', tab: 'overview' },
  'vm/over-capacity': { cause: 'vm-no-room', tab: 'overview' },
  'host/disk-full': { cause: 'vm-no-room', tab: 'overview' },
  'vm/powered-off': 'none',
  'vm/waiting': 'none',
}

/** What of a VM needs a person. One whose host does not answer is that host's matter: nothing is known of it now. */
export function vmNeeds(vm: Vm, { nowMs }: Pick<FleetFacts, 'nowMs'>): Need[] {
  if (vm.deletedAt || vm.hostUnknown) return []
  const of = (cause: Cause, more: string, act: NeedAct) => need(cause, objectOf(vm), more, act)
  if (vm.unowned) return [of('unowned', `On ${vm.hostName}.`, { kind: 'adopt', vm })]
  return [...stateNeed(vm, of), ...clockNeed(vm, of), ...guestNeed(vm, of), ...trustNeeds(vm, nowMs, of)]
}

type Of = (cause: Cause, more: string, act: NeedAct) => Need

function stateNeed(vm: Vm, of: Of): Need[] {
  if (vm.reason === '') return []
  const words = printable(vm.detail) || vmTrouble(vm)?.words.what || ''
  const more = words.includes(vm.hostName) ? words : [`On ${vm.hostName}.`, words].filter(Boolean).join(' ')
  const known = lookup(REASONS, vm.reason)
  if (known === 'none') return []
  if (known) return [of(known.cause, more, open(vm, known.tab))]
  return [of(vm.phase === 'failed' ? 'vm-decision' : 'vm-trouble', more, open(vm, 'overview'))]
}

function clockNeed(vm: Vm, of: Of): Need[] {
  if (!hasClock(vm) || isClockOld(vm)) return []
  const { word, off, offMs } = guestClockState(vm.clock)
  if (word !== 'Drifting' && word !== 'Jumped') return []
  const broken = breaksAt(offMs).at(-1)
  const where = off === '' ? 'It stood still, and was not seen right since.' : `${off} its host.`
  const act: NeedAct = whyNotSettable(vm) === undefined ? { kind: 'resync', vm } : open(vm, 'clock')
  return [of('guest-clock', `${where}${broken ? ` This breaks ${broken}.` : ''}`, act)]
}

function guestNeed(vm: Vm, of: Of): Need[] {
  const { guest } = vm
  if (vm.power !== 'running' || !guest) return []
  const failed = guest.modules.filter(({ result }) => result === 'failed').map(({ name }) => name)
  if (guest.fleetPayload === 'not_applied')
    return [
      of(
        'payload-failed',
        `${printable(guest.fleetPayloadDetail) || 'The fleet’s part was not applied'}.`,
        open(vm, 'cloud-init'),
      ),
    ]
  if (guest.cloudInit === 'error')
    return [
      of(
        'payload-failed',
        `cloud-init: ${failed.join(', ') || 'it ended with an error'}. The VM runs.`,
        open(vm, 'cloud-init'),
      ),
    ]
  return []
}

function trustNeeds(vm: Vm, nowMs: number, of: Of): Need[] {
  const ends = msOf(vm.hostCertificate?.validBefore)
  const needs: Need[] = []
  if (ends !== undefined && ends <= nowMs)
    needs.push(
      of(
        'certificate-ended',
        `On ${formatDay(new Date(ends))}. ssh cannot tell this guest from another.`,
        open(vm, 'trust'),
      ),
    )
  else if (ends !== undefined && ends - nowMs <= SOON_MS)
    needs.push(of('certificate-ending', `On ${formatDay(new Date(ends))}.`, open(vm, 'trust')))
  if (vm.trust?.revocations === 'failed')
    needs.push(of('revocations-failed', printable(vm.trust.detail), open(vm, 'trust')))
  return needs
}
