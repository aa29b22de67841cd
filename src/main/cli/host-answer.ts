import { timestampDate } from '@bufbuild/protobuf/wkt'
import { Fault, faultFromData } from '../../ipc/faults.ts'
import { type Host, HostSchema } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import type { FleetClient } from '../fleet-client.ts'
import { hostClockLine } from './clock-words.ts'
import type { CommandContext } from './context.ts'
import { hostUse } from './metrics-words.ts'
import { reasonLine } from './outcome.ts'
import { sheet } from './table.ts'

/** Raises host/not-found. */
export async function hostNamed({ hosts }: FleetClient, ref: string, signal: AbortSignal): Promise<Host> {
  const { host } = await hosts.getHost({ host: ref }, { signal })
  if (!host) throw new Fault('host/not-found', 'permanent', { host: ref })
  return host
}

/** The host as it is now; `created` goes beside its fields where a command made or found it. */
export async function answerHost(
  context: CommandContext,
  ref: string,
  more: { created?: boolean } = {},
): Promise<void> {
  const { host } = await (await context.fleet()).hosts.getHost({ host: ref }, { signal: context.signal })
  if (host) await answerThis(context, host, more)
}

export async function answerThis(context: CommandContext, host: Host, more: { created?: boolean } = {}): Promise<void> {
  await context.answer(HostSchema, host, () => hostSheet(host), more)
}

const capacity = (c: Host['capacity']) => c && `${c.vcpus} vCPU, ${c.memMb} MiB, ${c.diskGb} GiB`

function whyLine({ name, link, linkFault }: Host): string {
  if (!linkFault || link === 'connected') return ''
  return reasonLine(faultFromData({ ...linkFault, params: { host: name, ...linkFault.params } }))
}

const DRAINING: Record<string, string> = { stop: 'drained, its VMs are stopped', leave: 'drained, its VMs run on' }

function upgradeLine({ pendingUpgrade, upgradeAvailable, upgradeOutcome }: Host): string {
  const { state = '', version = '', detail = '' } = upgradeOutcome ?? {}
  const last = { refused: `${version} was refused`, rolled_back: `${version} was taken back` }[state]
  return [
    pendingUpgrade ? `${pendingUpgrade.version} offered ${pendingUpgrade.ageS} s ago` : '',
    upgradeAvailable ? `${upgradeAvailable} is here` : '',
    last ? [last, detail].filter(Boolean).join(': ') : '',
  ]
    .filter(Boolean)
    .join('; ')
}

function credentialLine({ credential, credentialEndsAt }: Host): string {
  if (credential === 'login') return ''
  const until = credentialEndsAt ? `, until ${timestampDate(credentialEndsAt).toISOString()}` : ''
  return credential === 'key' ? `this app's own key${until}` : credential
}

const hostSheet = (h: Host): string =>
  sheet([
    ['name', h.name],
    ['id', h.id],
    ['link', h.link],
    ['why', whyLine(h)],
    ['address', h.address || h.kind],
    [
      'labels',
      Object.entries(h.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(', '),
    ],
    ['new VMs', DRAINING[h.draining] ?? ''],
    ['agent', h.agentVersion],
    ['upgrade', upgradeLine(h)],
    ['let in by', credentialLine(h)],
    ['runs as', h.runsAs],
    ['started by', h.startedBy],
    ['acceleration', [h.acceleration, h.accelerationDetail].filter(Boolean).join(': ')],
    ['hypervisor', h.vmmVersion],
    ['system', [h.os, h.arch].filter(Boolean).join(' ')],
    ['capacity', capacity(h.capacity)],
    ['allocated', capacity(h.allocated)],
    ['in use', hostUse(h.metrics)],
    ['clock', hostClockLine(h)],
    ['uplink', h.uplinkAddress],
    ['guest network', h.guestCidr],
    ['VMs', h.vms],
    ['host key', h.hostKeyFingerprint],
    ['secrets in', h.secretsKept],
    ['carrier', [h.carrier, h.sshClientDetail].filter(Boolean).join('. ')],
    ['missing', h.missing.join(', ')],
    ['notices', h.notices.join(' ')],
  ])
