import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { plural } from '../../lib/format.ts'
import type { Gone } from '../../ui/sheet-subject.tsx'
import { offeredKey, ownerOf } from './view-model.ts'

const STAYS = 'Adding it again finds its VMs, which go on there.'

/** Why a sheet opened for a host cannot act any more; undefined = it can. `now`: as told last, absent = it left. */
export function goneHost(kind: string, opened: Host, now: Host | undefined): Gone | undefined {
  if (!now)
    return {
      title: `${opened.name} left the fleet`,
      what: `It was removed meanwhile, by another window or the command line. ${STAYS}`,
    }
  if (kind === 'compare-keys' && !offeredKey(now))
    return {
      title: `${now.name} has no key to compare any more`,
      what: 'Its key was accepted meanwhile, or it answers with the one it is known by. Host detail shows which is pinned.',
    }
  if (kind === 'take-over' && ownerOf(now) === undefined && !now.newerData)
    return {
      title: `${now.name} is not held by another any more`,
      what: 'It follows this fleet now. Its VMs go on as they were.',
    }
  return undefined
}

/** The same for a sheet of many: it goes on with those that are left. */
export function goneHosts(opened: readonly Host[], left: number): Gone | undefined {
  const [first] = opened
  if (left > 0 || !first) return undefined
  if (opened.length === 1) return goneHost('many', first, undefined)
  return {
    title: `${plural(opened.length, 'host')} left the fleet`,
    what: `They were removed meanwhile, by another window or the command line. Adding them again finds their VMs, which go on there.`,
  }
}
