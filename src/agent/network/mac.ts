import { createHash } from 'node:crypto'

/** The guest's MAC, a function of the VM id alone, so that seed and hypervisor agree without asking. `nic` from 0. */
export function macOf(vmId: string, nic = 0): string {
  const digest = createHash('sha256').update(`eitri-mac ${vmId} ${nic}`).digest()
  return ['52', '54', '00', ...[0, 1, 2].map((i) => digest[i]!.toString(16).padStart(2, '0'))].join(':')
}
