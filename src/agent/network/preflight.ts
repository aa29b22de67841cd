import { readFile } from 'node:fs/promises'
import { networkOf } from '../../ipc/base/cidr.ts'
import { findProgram } from '../facts/system.ts'
import type { Run, RunResult } from '../os/exec.ts'
import { listDir } from '../os/files.ts'
import { GUEST_BRIDGE } from './guest-network.ts'
import type { NetworkStatusInit } from './host-networks.ts'
import type { Filters, NetworkLook, Route } from './network-look.ts'
import { parseIptables, parseNft, type Ruleset } from './nft-ruleset.ts'

const LOOK_MS = 10_000
/** A host of a thousand services has some megabytes of rules. */
const RULES_BYTES = 16 * 1024 * 1024
const MAX_ROUTES = 1_000
const CONF = '/proc/sys/net/ipv4/conf'
const PROGRAMS = ['nft', 'ip', 'dnsmasq']

/** The guests' networks whose way out is looked at. */
export interface LookedAt {
  bridge: string
  /** Empty = none yet. */
  guestCidr: string
  operatorBridges: readonly string[]
}

/** What a host's networks are to the look; pure. */
export function lookedAt(networks: { status(): NetworkStatusInit[] }): LookedAt {
  const all = networks.status()
  const own = all.find(({ kind }) => kind !== 'operator')
  const bridges = all.filter(({ kind }) => kind === 'operator').flatMap(({ bridge = '' }) => bridge || [])
  return { bridge: own?.bridge || GUEST_BRIDGE, guestCidr: own?.cidr ?? '', operatorBridges: bridges }
}

/** Looks at all that judges ask about; changes nothing. What cannot be read is part of the answer: it never raises. */
export async function lookAtNetwork(run: Run, at: LookedAt, signal?: AbortSignal): Promise<NetworkLook> {
  const ask = asking(run, signal)
  const missing: string[] = []
  for (const name of PROGRAMS) if ((await findProgram(name)) === undefined) missing.push(name)
  const devices = await listDir('/sys/class/net')
  return {
    ...at,
    missing,
    filters: missing.includes('nft') ? { ruleset: { chains: [] } } : await filtersOf(ask),
    routes: missing.includes('ip') ? [] : await routesOf(ask),
    forwarding: new Map(await each(devices, async (device) => (await numberOf(`${CONF}/${device}/forwarding`)) !== 0)),
    strictReversePath: await strictOf(devices),
    mtu: new Map(await each(devices, (device) => numberOf(`/sys/class/net/${device}/mtu`))),
    bridgeNfCall: (await numberOf('/proc/sys/net/bridge/bridge-nf-call-iptables')) === 1,
  }
}

type Ask = (program: string, args: readonly string[]) => Promise<RunResult>

const asking =
  (run: Run, signal: AbortSignal | undefined): Ask =>
  (program, args) =>
    run('preflight.ask', program, args, {
      timeoutMs: LOOK_MS,
      outputBytes: RULES_BYTES,
      ...(signal === undefined ? {} : { signal }),
    })

async function filtersOf(ask: Ask): Promise<Filters> {
  const command = 'nft list ruleset'
  try {
    const json = said(await ask('nft', ['-j', 'list', 'ruleset']))
    const listing = said(await ask('nft', ['-a', 'list', 'ruleset']))
    const { chains } = parseNft(json, listing)
    return { ruleset: { chains: [...chains, ...(await olderIptables(ask)).chains] } }
  } catch (error) {
    return { command, problem: problemOf(error) }
  }
}

/** Rules of the older iptables, which nft does not see. Loading its module by asking would be a change: asked only where it is in use. */
async function olderIptables(ask: Ask): Promise<Ruleset> {
  const tables = await textOf('/proc/net/ip_tables_names')
  if (!tables.split('\n').includes('filter')) return { chains: [] }
  if ((await findProgram('iptables-legacy')) === undefined) return { chains: [] }
  return parseIptables(said(await ask('iptables-legacy', ['-S'])))
}

async function routesOf(ask: Ask): Promise<Route[]> {
  const { stdout } = await ask('ip', ['-4', 'route', 'show', 'table', 'all']).catch(() => ({ stdout: '' }))
  return parseRoutes(stdout).slice(0, MAX_ROUTES)
}

/** Of `ip route show`: ways to other networks by an interface. */
export function parseRoutes(listing: string): Route[] {
  return listing.split('\n').flatMap((line): Route[] => {
    const text = line.trim()
    const [, to = '', device = ''] = /^(?:unicast )?(default|[\d.]+(?:\/\d+)?) .*?\bdev (\S+)/.exec(text) ?? []
    if (device === '' || device === 'lo') return []
    if (to === 'default') return [{ network: undefined, device, text }]
    const network = networkOf(to.includes('/') ? to : `${to}/32`)
    return network ? [{ network, device, text }] : []
  })
}

async function strictOf(devices: readonly string[]): Promise<Set<string>> {
  const all = (await numberOf(`${CONF}/all/rp_filter`)) ?? 0
  const own = await each(devices, (device) => numberOf(`${CONF}/${device}/rp_filter`))
  // The kernel takes the larger of the two; 2 is loose.
  return new Set(own.filter(([, value]) => Math.max(all, value) === 1).map(([device]) => device))
}

async function each<T>(
  devices: readonly string[],
  ask: (device: string) => Promise<T | undefined>,
): Promise<[string, T][]> {
  const found = await Promise.all(devices.map(async (device) => [device, await ask(device)] as const))
  return found.flatMap(([device, value]) => (value === undefined ? [] : [[device, value] as [string, T]]))
}

async function numberOf(path: string): Promise<number | undefined> {
  const text = (await textOf(path)).trim()
  return /^\d+$/.test(text) ? Number(text) : undefined
}

/** Files of the kernel say that they are empty; '' = it cannot be read. */
const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

function said({ code, stdout, stderr, timedOut }: RunResult): string {
  if (timedOut) throw new Error('it did not end')
  if (code !== 0) throw new Error(stderr.trim() || `it ended with ${code}`)
  return stdout
}

const problemOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0]!.slice(0, 200).replace(/\.$/, '')
