import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { Gone } from '../../ui/sheet-subject.tsx'

/** What a sheet of a VM is about to do. */
export type VmSheetKind = 'remove' | 'purge' | 'undelete' | 'adopt' | 'edit' | 'clone' | 'template' | 'forceStop'

/** Those that act on a VM only while it is not deleted. */
const OF_LIVING: ReadonlySet<VmSheetKind> = new Set(['remove', 'edit', 'clone', 'template', 'forceStop'])

/** Why a sheet opened for a VM cannot act any more; undefined = it can. `now`: the VM as told last, absent = it left. */
export function goneVm(
  kind: VmSheetKind,
  opened: Vm,
  { now, hostThere }: { now: Vm | undefined; hostThere: boolean },
): Gone | undefined {
  const name = now?.name || opened.name || 'It'
  if (!now) return left(name, opened, hostThere)
  if (OF_LIVING.has(kind) && now.deletedAt)
    return {
      title: `${name} is in quarantine`,
      what: `It was deleted meanwhile, by another window or the command line. Its disk stays on ${now.hostName} until the countdown ends; Undo in its row brings it back.`,
    }
  if ((kind === 'purge' || kind === 'undelete') && !now.deletedAt)
    return {
      title: `${name} is not in quarantine any more`,
      what: `It was brought back meanwhile, with its disk, on ${now.hostName}.`,
    }
  if (kind === 'adopt' && !now.unowned)
    return { title: `${name} is in this fleet already`, what: `It was adopted meanwhile, and goes on as it was.` }
  return undefined
}

function left(name: string, { hostName, unowned }: Vm, hostThere: boolean): Gone {
  if (!hostThere)
    return {
      title: `${name} is gone from this fleet`,
      what: `Its host ${hostName} left the fleet. There it goes on as it was, with its disk; adding the host again finds it.`,
    }
  if (unowned) return { title: `${name} is gone`, what: `${hostName} does not report it any more.` }
  return {
    title: `${name} is gone`,
    what: `It was destroyed on ${hostName} with its disk, by another window, the command line or the end of its quarantine. Activity says which.`,
  }
}
