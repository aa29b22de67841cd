import type { Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'

/** More than fits is found by typing. */
const MOST = 50

/** VMs whose console can be shown, by what was typed of their name or host: exact, then prefix, then within; by name among equals. */
export function pickable(vms: readonly Vm[], text: string): Vm[] {
  const wanted = text.trim().toLowerCase()
  const ranked = vms
    .filter((vm) => !vm.unowned)
    .map((vm) => ({ vm, rank: rankOf(vm, wanted) }))
    .filter(({ rank }) => rank < NONE)
  ranked.sort((a, b) => a.rank - b.rank || (a.vm.name < b.vm.name ? -1 : a.vm.name > b.vm.name ? 1 : 0))
  return ranked.slice(0, MOST).map(({ vm }) => vm)
}

const NONE = 4

function rankOf({ name, hostName }: Vm, wanted: string): number {
  if (name === wanted) return 0
  if (name.startsWith(wanted)) return 1
  if (name.includes(wanted)) return 2
  return hostName.toLowerCase().includes(wanted) ? 3 : NONE
}
