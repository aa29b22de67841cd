import { windowFaultText } from '../../../ipc/fault-text-window.ts'
import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { installCommand, PACKAGED_PARTS } from '../../../ipc/packages.ts'
import { plural } from '../../lib/format.ts'
import { isOutdated } from './host-filter.ts'
import { kvmWords } from './kvm-words.ts'
import { hostFault, isCurrent, offeredKey, ownerOf } from './view-model.ts'

/** The one thing a person can do about it. */
export type HostMove =
  | 'try-now'
  | 'sign-in'
  | 'compare-keys'
  | 'take-over'
  | 'use-own-data'
  | 'update-agent'
  | 'undrain'
  | 'open-clock'
  | 'open-networks'
  | 'none'

export interface HostProblem {
  id: string
  tone: 'bad' | 'warn'
  /** What, on which host. */
  what: string
  /** What it means for the VMs. */
  effect: string
  move: HostMove
  /** For a shell on the host. Empty = there is none. */
  command: string
}

/** What is wrong with a host, worst first; each with what it means and its next move. */
export function hostProblems(host: Host, vms: { unknown: number }): HostProblem[] {
  return [
    ...linkProblem(host, vms),
    ...dataProblem(host),
    ...missingPrograms(host),
    ...slow(host),
    ...outdated(host),
    ...networkProblems(host),
    ...clockProblem(host),
    ...comesBack(host),
    ...drained(host),
  ]
}

const problem = (id: string, tone: HostProblem['tone'], parts: Partial<HostProblem>): HostProblem => ({
  ...{ id, tone, what: '', effect: '', move: 'none', command: '' },
  ...parts,
})

function linkProblem(host: Host, { unknown }: { unknown: number }): HostProblem[] {
  const fault = hostFault(host)
  if (!fault) return []
  const { what, effect } = windowFaultText(fault.code, fault.params)
  const vms = unknown > 0 ? `${plural(unknown, 'VM')} ${unknown === 1 ? 'is' : 'are'} unknown, not stopped.` : effect
  const tone = host.link === 'key_changed' || host.link === 'unreachable' ? 'bad' : 'warn'
  return [problem('link', tone, { what, effect: vms, move: linkMove(host) })]
}

function linkMove(host: Host): HostMove {
  if (host.link === 'sign_in_needed') return 'sign-in'
  if (offeredKey(host)) return 'compare-keys'
  if (ownerOf(host) !== undefined) return 'take-over'
  return 'try-now'
}

function dataProblem({ name, newerData }: Host): HostProblem[] {
  if (!newerData) return []
  return [
    problem('newer-data', 'warn', {
      what: `This app's data is older than ${name}'s (epoch ${newerData.epoch} < ${newerData.hostEpoch}).`,
      effect: 'To avoid undoing newer work nothing is sent to it.',
      move: 'use-own-data',
    }),
  ]
}

function missingPrograms(host: Host): HostProblem[] {
  if (host.missing.length === 0) return []
  return [
    problem('missing', 'warn', {
      what: `${host.name} lacks ${host.missing.join(', ')}.`,
      effect: 'VMs that need it do not start there.',
      command: packagesCommand(host),
    }),
  ]
}

const MANAGERS: [RegExp, string][] = [
  [/debian|ubuntu|mint|raspbian/i, 'apt-get'],
  [/fedora|red hat|rocky|alma|centos|oracle/i, 'dnf'],
  [/suse/i, 'zypper'],
  [/alpine/i, 'apk'],
  [/arch|manjaro/i, 'pacman'],
]

/** The one command that brings what is missing, by the family of its system; empty where that is not known. */
export function packagesCommand({
  os,
  missing,
  arch,
  address,
}: Pick<Host, 'os' | 'missing' | 'arch' | 'address'>): string {
  const manager = MANAGERS.find(([family]) => family.test(os))?.[1]
  const named = missing.map((name) => (name.startsWith('qemu-system') ? 'qemu' : name))
  const parts = PACKAGED_PARTS.filter((part) => named.includes(part))
  if (manager === undefined || parts.length === 0) return ''
  return installCommand(manager, parts, arch, address.startsWith('root@') ? '' : 'sudo ')
}

function slow(host: Host): HostProblem[] {
  const words = kvmWords(host)
  if (!words) return []
  const { what, effect, next, command } = words
  return [problem('slow', 'warn', { what, effect: [effect, next].filter(Boolean).join(' '), command })]
}

function outdated(host: Host): HostProblem[] {
  if (!isOutdated(host) || host.upgradeAvailable === '' || host.pendingUpgrade) return []
  return [
    problem('outdated', 'warn', {
      what: `The agent of ${host.name} is ${host.agentVersion || 'of an unknown version'}; this app brings ${host.upgradeAvailable}.`,
      effect: 'VMs run on while it is updated.',
      move: 'update-agent',
    }),
  ]
}

function networkProblems(host: Host): HostProblem[] {
  const open = host.networkFindings.filter((finding) => !finding.mended).length
  if (open === 0 || !isCurrent(host)) return []
  return [
    problem('networks', 'warn', {
      what: `${plural(open, 'finding')} about the networks of ${host.name}.`,
      effect: 'Guests may not reach their network.',
      move: 'open-networks',
    }),
  ]
}

function clockProblem({ name, clock }: Host): HostProblem[] {
  if (!clock?.wrong) return []
  return [
    problem('clock', 'warn', {
      what: `The clock of ${name} and that of this computer differ.`,
      effect: 'Certificates and codes of its VMs may be refused.',
      move: 'open-clock',
    }),
  ]
}

function comesBack(host: Host): HostProblem[] {
  if (host.startedBy !== 'app' || host.kind === 'local') return []
  return [
    problem('comes-back', 'warn', {
      what: `Nothing on ${host.name} starts its agent after a reboot.`,
      effect: 'This app starts it when it connects; until then its VMs stay off.',
    }),
  ]
}

function drained(host: Host): HostProblem[] {
  if (host.draining === '') return []
  return [
    problem('draining', 'warn', {
      what: `${host.name} is drained: it takes no new VMs.`,
      effect: host.draining === 'stop' ? 'Its VMs were told to stop.' : 'Its VMs run on.',
      move: 'undrain',
    }),
  ]
}
