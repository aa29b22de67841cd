import type { CommandPart } from '../backend.ts'

export const CLOUD_HYPERVISOR = 'cloud-hypervisor'

/** Names relative to the VM's directory, which is the VMM's working directory: a socket address holds 107 bytes. */
export interface ChFiles {
  apiSocketName: string
  serialSocketName: string
  events: string
  disk: string
  seed: string
}

/** The VMM alone: what VM it runs is told over its socket, where a refusal comes with its reason. */
export function chCommand(program: string, files: Pick<ChFiles, 'apiSocketName' | 'events'>): CommandPart[] {
  return [
    { args: [program], why: 'the hypervisor, one process per VM' },
    { args: ['--api-socket', `path=${files.apiSocketName}`], why: 'where the agent creates, boots and stops the VM' },
    { args: ['--event-monitor', `path=${files.events}`], why: 'what happens to the guest, readable after its end' },
  ]
}
