import type { SavedView } from '../../state/preference-shape.ts'
import { HOST_VIEWS } from '../hosts/host-filter.ts'

const CLOCK_OFF = '-clock:"in step" -clock:"not reported"'

/** Filters people look for again and again, by list. A list that brings its own says so itself. */
export const BUILT_IN_VIEWS: Readonly<Record<string, readonly SavedView[]>> = {
  vms: [
    { name: 'Running', filter: 'state:running' },
    { name: 'Need a decision', filter: 'state:"needs a decision"' },
    { name: 'Crashed', filter: 'state:crashed' },
    { name: 'Unknown', filter: 'state:unknown' },
    { name: 'In quarantine', filter: 'state:quarantine' },
    { name: 'Unowned', filter: 'state:unowned' },
    { name: 'Clock off', filter: `state:running ${CLOCK_OFF}` },
  ],
  hosts: HOST_VIEWS,
  ports: [
    { name: 'Failed', filter: 'state:failed' },
    { name: 'UDP', filter: 'protocol:udp' },
  ],
  clock: [
    { name: 'Off', filter: '-state:"in step" -state:"not reported"' },
    { name: 'Not reported', filter: 'state:"not reported"' },
    { name: 'Hosts alone', filter: 'kind:host' },
  ],
  activity: [
    { name: 'Last day', filter: 'since:1d' },
    { name: 'VMs made', filter: 'action:vm.create' },
    { name: 'VMs deleted', filter: 'action:vm.delete' },
  ],
  tasks: [
    { name: 'Running', filter: 'state:running' },
    { name: 'Failed', filter: 'state:failed' },
  ],
}
