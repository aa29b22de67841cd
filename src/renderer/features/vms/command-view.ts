import type { CommandPart, GetVmCommandResponse, Vm } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { shellLine } from '../../lib/shell-line.ts'

export type CommandOf = 'running' | 'next'

export interface CommandLineView {
  /** Headline of the answer: `QEMU, process 4711`. */
  what: string
  /** Lines that can be taken along; one whose parts nobody knows is not here. */
  lines: { of: CommandOf; label: string; text: string }[]
  parts: CommandPart[]
  /** What runs differs from what the next start would be. */
  differs: boolean
  /** What cannot be said and why, a sentence each. */
  unknown: string[]
}

const BACKENDS: Record<string, string> = { qemu: 'QEMU', 'cloud-hypervisor': 'Cloud Hypervisor', vfkit: 'vfkit' }

/** The answer of a host about the command line of a VM. What it does not know is said, never guessed. */
export function commandLineView(answer: GetVmCommandResponse): CommandLineView {
  const { backend, pid, parts, runsKnown, nextUnknown } = answer
  const runs = pid !== undefined
  const name = BACKENDS[backend] ?? backend
  const differs = runs && runsKnown && nextUnknown === '' && parts.some(({ where }) => where !== 'both')
  const line = (of: CommandOf) => shellLine(argsOf(parts, of))
  const lines: CommandLineView['lines'] = []
  if (runs && runsKnown)
    lines.push({
      of: 'running',
      label: differs ? 'As it runs' : 'As it runs, and would start again',
      text: line('running'),
    })
  if (nextUnknown === '' && (differs || !runs || !runsKnown))
    lines.push({ of: 'next', label: 'As its next start would be', text: line('next') })
  const unknown = [
    runs && !runsKnown ? 'What runs was started with arguments that its host cannot read.' : '',
    nextUnknown === '' ? '' : `What its next start would use is not known: ${nextUnknown}`,
  ].filter(Boolean)
  return { what: runs ? `${name}, process ${pid}` : `${name}, not running`, lines, parts, differs, unknown }
}

const argsOf = (parts: readonly CommandPart[], of: CommandOf): string[] =>
  parts.filter(({ where }) => where === 'both' || where === of).flatMap(({ args }) => args)

/** What this app wants of it, by the names of the API: what is sent to its host. */
export function desiredSpec(vm: Vm): Record<string, unknown> {
  return {
    id: vm.id,
    name: vm.name,
    host: vm.hostName,
    tenant: vm.tenant,
    desired_power: vm.desiredPower,
    ...(vm.deletedAt ? { deleted: true } : {}),
    image: { name: vm.imageName || null, sha256: vm.imageSha256 || null, url: vm.imageUrl || null },
    ...(vm.cloneOf ? { clone_of: vm.cloneOf } : {}),
    vcpus: vm.vcpus,
    mem_mb: vm.memMb,
    disk_gb: vm.diskGb,
    network: vm.network || null,
    labels: vm.labels,
    protected: vm.protected,
    autostart: vm.autostart,
    autostart_delay_s: vm.autostartDelayS,
    autostart_order: vm.autostartOrder,
    clock_policy: vm.clockPolicy || 'auto',
    needs_restart: vm.needsRestart,
  }
}
