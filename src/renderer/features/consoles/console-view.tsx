import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { ConsolePane } from './console-pane.tsx'
import { consoleKey } from './open-consoles.ts'

/** The serial console of one VM, as large as its place. */
export const ConsoleView = ({ vm }: { vm: Vm }) => (
  <ConsolePane paneKey={consoleKey(vm.id)} target={{ kind: 'console', vmId: vm.id }} focused />
)
