import type { Command } from 'commander'
import { faultLine } from '../../ipc/fault-text.ts'
import { faultFromMessage } from '../../ipc/fault-wire.ts'
import {
  type CacheItem,
  CollectImagesResponseSchema,
  type HostCollection,
} from '../../ipc/gen/eitri/fleet/v1/image_pb.js'
import type { CommandContext, Runner } from './context.ts'
import { reference } from './options.ts'
import { table } from './table.ts'

const COLLECT_MS = 60_000

interface GcOptions {
  host?: string
  dryRun?: boolean
  all?: boolean
}

/** `eitri image gc`. */
export function imageGcCommand(image: Command, run: Runner): void {
  run(
    image
      .command('gc')
      .description('remove images no VM of a host needs from its cache')
      .option('--host <host>', 'this host only')
      .option('--dry-run', 'say what would go and why the rest stays, remove nothing')
      .option('--all', 'whatever no VM needs, however short it has been unused'),
    collect,
  )
}

async function collect(context: CommandContext, options: GcOptions): Promise<void> {
  context.deadline(COLLECT_MS)
  const { dryRun = false, all = false } = options
  const host = options.host === undefined ? '' : reference('host', options.host)
  const fleet = await context.fleet()
  const answer = await fleet.images.collectImages({ host, dryRun, all }, { signal: context.signal })
  await context.answer(CollectImagesResponseSchema, answer, () => words(answer.hosts, dryRun))
  const [failed] = answer.hosts.filter(({ fault }) => fault)
  if (failed?.fault && answer.hosts.length === 1) throw faultFromMessage(failed.fault)
}

function words(hosts: readonly HostCollection[], dryRun: boolean): string {
  if (hosts.length === 0) return 'There is no host yet.\n'
  const rows = hosts.flatMap(({ hostName, removed, kept }) => [
    ...removed.map((item) => [hostName, ...columns(item), dryRun ? 'would go' : 'removed', whyGone(item)]),
    ...kept.map((item) => [hostName, ...columns(item), 'stays', whyKept(item)]),
  ])
  const list = rows.length === 0 ? '' : table(['HOST', 'IMAGE', 'SIZE', 'WHAT', 'WHY'], rows)
  return `${list}${hosts.map((host) => summary(host, dryRun)).join('')}`
}

const columns = ({ names, sha256, sizeBytes, whole }: CacheItem): [string, string] => [
  `${names.join(', ') || sha256.slice(0, 12)}${whole ? '' : ' (unfinished)'}`,
  size(sizeBytes),
]

function whyGone({ reason, unusedS }: CacheItem): string {
  if (reason === 'pressure') return `the disk is low; unused for ${time(unusedS)}`
  return `unused for ${time(unusedS)}`
}

function whyKept({ reason, vms, unusedS }: CacheItem): string {
  if (reason === 'in_use') return `used by ${vms.join(', ')}`
  if (reason === 'transfer') return 'it is being transferred or was used just now'
  if (reason === 'unknown') return 'it is not known whether a VM needs it'
  return `unused for ${time(unusedS)} only; --all takes it`
}

function summary({ hostName, removed, freeBytes, unknown, fault }: HostCollection, dryRun: boolean): string {
  if (fault) {
    const { code, params } = faultFromMessage(fault)
    return `${hostName}: ${faultLine(code, params)}\n`
  }
  const bytes = removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0n)
  const freed = dryRun ? `${size(bytes)} would be freed` : `${size(bytes)} freed`
  const nothing = unknown === '' ? '' : ` Nothing goes while ${unknown}.`
  return `${hostName}: ${freed}, ${size(freeBytes)} free.${nothing}\n`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

function size(bytes: bigint): string {
  let [amount, unit] = [Number(bytes), 0]
  for (; amount >= 1024 && unit < UNITS.length - 1; unit++) amount /= 1024
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit]}`
}

function time(seconds: bigint): string {
  const s = Number(seconds)
  if (s < 3600) return `${Math.floor(s / 60)} min`
  return s < 86_400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`
}
