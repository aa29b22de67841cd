import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { plural } from '../../lib/format.ts'
import { msOf } from '../../lib/timestamp.ts'
import type { StateView } from '../../ui/state-word.tsx'
import { SOON_MS } from './host-needs.ts'

/** Host certificates of guests in one word, and who has none. */
export function certificateStanding(vms: readonly Vm[], now: number): { state: StateView; text: string } {
  const ends = vms
    .filter((vm) => !vm.deletedAt && !vm.unowned)
    .flatMap((vm) => msOf(vm.hostCertificate?.validBefore) ?? [])
  const ended = ends.filter((at) => at <= now).length
  const soon = ends.filter((at) => at > now && at - now <= SOON_MS).length
  const all = plural(ends.length, 'host certificate')
  if (ends.length === 0)
    return { state: { word: 'None yet', tone: 'unknown' }, text: 'No guest has a host certificate yet.' }
  if (ended > 0) return { state: { word: 'Expired', tone: 'bad' }, text: `${ended} of ${all} ended already.` }
  if (soon > 0)
    return {
      state: { word: 'Expires soon', tone: 'warn' },
      text: `${soon} of ${all} ${soon === 1 ? 'ends' : 'end'} within 14 days.`,
    }
  return { state: { word: 'Valid', tone: 'good' }, text: `${all}, none ends within 14 days.` }
}
