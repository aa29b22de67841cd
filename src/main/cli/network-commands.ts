import { create } from '@bufbuild/protobuf'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { printable } from '../../ipc/fault-text.ts'
import {
  CheckNetworkResponseSchema,
  ListNetworksResponseSchema,
  MendNetworkResponseSchema,
  type Network,
  type NetworkFinding,
} from '../../ipc/gen/eitri/fleet/v1/network_pb.js'
import type { CommandContext, Runner } from './context.ts'
import { reference } from './options.ts'
import { table } from './table.ts'

/** The host looks, changes its filters and looks again. */
const CHANGE_MS = 60_000

export function networkCommands(root: Command, run: Runner): void {
  const network = root.command('network').description("hosts' networks, and what keeps guests from them")
  run(
    network.command('list').argument('[host]', 'this host only').description('networks and the addresses on them'),
    listNetworks,
  )
  run(
    network
      .command('preflight <host>')
      .description('look at what keeps guests of a host from their network; changes nothing'),
    preflight,
  )
  run(
    network
      .command('mend <host> [finding]')
      .description('let guests through where the host keeps them from their network; without a finding, all of them'),
    (context, host: string, id: string | undefined) => change(context, host, id, false),
  )
  run(
    network.command('undo <host> [finding]').description('take a mend back; without a finding, all of them'),
    (context, host: string, id: string | undefined) => change(context, host, id, true),
  )
}

async function listNetworks(context: CommandContext, host: string | undefined): Promise<void> {
  context.deadline()
  const asked = { host: host === undefined ? '' : reference('host', host) }
  const answer = await (await context.fleet()).networks.listNetworks(asked, { signal: context.signal })
  await context.answer(ListNetworksResponseSchema, answer, () => networksText(answer.networks, context.parts.now()))
}

async function preflight(context: CommandContext, name: string): Promise<void> {
  context.deadline(CHANGE_MS)
  const host = reference('host', name)
  const answer = await (await context.fleet()).networks.checkNetwork({ host }, { signal: context.signal })
  await context.answer(CheckNetworkResponseSchema, answer, () => findingsText(answer.findings, host))
}

async function change(context: CommandContext, name: string, id: string | undefined, undo: boolean): Promise<void> {
  context.deadline(CHANGE_MS)
  const host = reference('host', name)
  const { networks } = await context.fleet()
  const { signal } = context
  let { findings } =
    id === undefined ? await networks.checkNetwork({ host }, { signal }) : { findings: [] as NetworkFinding[] }
  const wanted = id === undefined ? findings.filter(undo ? isMended : isMendable).map((one) => one.id) : [id]
  for (const findingId of wanted)
    findings = (await networks.mendNetwork({ host, findingId, undo }, { signal })).findings
  const done =
    wanted.length === 0
      ? `There is nothing to ${undo ? 'undo' : 'mend'} on ${host}.`
      : `${undo ? 'Undone' : 'Mended'}: ${wanted.join(', ')}.`
  const answer = create(MendNetworkResponseSchema, { findings })
  await context.answer(MendNetworkResponseSchema, answer, () => `${printable(done)}\n\n${findingsText(findings, host)}`)
}

const isMended = ({ mended }: NetworkFinding): boolean => mended
const isMendable = ({ mend, mended }: NetworkFinding): boolean => mend !== '' && !mended

function findingsText(findings: readonly NetworkFinding[], host: string): string {
  if (findings.length === 0) return `Nothing keeps guests of ${printable(host)} from their network.\n`
  return findings.map((one) => findingText(one, host)).join('\n')
}

function findingText({ id, severity, what, effect, rule, mend, mended }: NetworkFinding, host: string): string {
  const lines = [
    `${what} ${mended ? 'A mend is in force.' : effect}`,
    rule === '' ? '' : `Rule: ${rule}`,
    mended || mend === '' ? '' : `Mend: ${mend}`,
    mended ? `eitri network undo ${host} ${id}` : mend === '' ? '' : `eitri network mend ${host} ${id}`,
  ]
  const shown = lines.flatMap((line) => (line === '' ? [] : [`  ${printable(line)}\n`]))
  return [`${printable(id)}  ${mended ? 'mended' : severity}\n`, ...shown].join('')
}

function networksText(networks: readonly Network[], now: number): string {
  if (networks.length === 0) return 'No host has told of a network yet.\n'
  const rows = networks.map((one) => [
    ...[one.hostName, one.name, one.kind, one.cidr || '-', one.bridge || '-', one.gateway || '-', one.state],
    one.detail,
  ])
  const addresses = networks.flatMap((network) =>
    network.addresses.map((one) => [
      ...[network.hostName, network.name, one.vmName || one.vmId.slice(0, 12), one.ip || 'not known yet'],
      ...[one.source || '-', one.seenAt ? ago(now - timestampMs(one.seenAt)) : '-', one.mac],
    ]),
  )
  const list = table(['HOST', 'NETWORK', 'KIND', 'SUBNET', 'BRIDGE', 'GATEWAY', 'STATE', 'DETAIL'], rows)
  if (addresses.length === 0) return list
  return `${list}\n${table(['HOST', 'NETWORK', 'VM', 'ADDRESS', 'SOURCE', 'SEEN', 'MAC'], addresses)}`
}

function ago(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  if (s < 60) return `${s} s ago`
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  return s < 86_400 ? `${Math.floor(s / 3600)} h ago` : `${Math.floor(s / 86_400)} d ago`
}
