import { z } from 'zod'
import { Fault, findFault } from '../../ipc/faults.ts'
import type { Run, RunResult } from '../os/exec.ts'
import { ask, dispositionOf, lastWords } from './command.ts'

const TABLE = 'bridge eitri'

/** How long the kernel remembers an answer of a DHCP server, s. */
const ACK_S = 600
/** How long the kernel remembers a guest that answered as a DHCP server, s. */
const ROGUE_S = 600
/** Second NICs on one host, and answers remembered of them. */
export const MAX_NICS = 1_024
const MAX_ROGUES = 256

/** A second NIC whose address is to be learned. */
export interface LanNic {
  tap: string
  mac: string
}

/** An address that a DHCP server gave to a second NIC. */
export interface Ack extends LanNic {
  ip: string
  /** Whole seconds since it was last given, rounded up. */
  ageS: number
}

export interface GuardLook {
  /** All rules are there, and they learn of exactly these NICs. */
  whole: boolean
  acks: Ack[]
  /** Taps whose guests answered as DHCP servers within the last ten minutes. */
  rogues: string[]
  /** Frames of such guests, since the table was made. */
  dropped: number
}

/** Names the fields of a DHCP answer in the transport payload: 8 bytes of UDP come first. */
const REPLY = '@th,64,8 2'
const CHADDR = '@th,288,48'
const YIADDR = '@th,192,32'
/** The first option says the kind of the message, 5 = ACK: what servers send. */
const IS_ACK = '@th,1984,24 0x350105'

const RULES = {
  tags: 'eitri: nothing behind an empty tag',
  prerouting: 'eitri: no DHCP servers in guests',
  forward: 'eitri: LAN',
  output: 'eitri: LAN of host',
}
type Chain = keyof typeof RULES
const hookOf = (chain: Chain): string => (chain === 'tags' ? 'prerouting' : chain)
/** A tag behind one of VLAN 0: receivers take off both, and rules see neither what is inside nor its ports. */
const HIDDEN = 'meta protocol { 8021q, 8021ad } @ll,116,12 0'
const CHAINS = Object.keys(RULES) as Chain[]

/**
 * One transaction that makes the table what it should be for these NICs, however it was; what it learned stays. Names are
 * quoted: nft takes its arguments apart once more.
 */
export function guardRules(nics: readonly LanNic[]): string {
  const learned = `udp sport 67 udp dport 68 ${REPLY} ${IS_ACK} ${YIADDR} != 0 oifname . ${CHADDR} @nics update @acks { oifname . ${CHADDR} . ${YIADDR} }`
  const rule: Record<Chain, string> = {
    tags: `iifname "eil-*" ${HIDDEN} drop`,
    prerouting: 'iifname "eil-*" udp sport 67 update @rogues { iifname } counter name dropped drop',
    forward: `iifname != "eil-*" oifname "eil-*" ${learned}`,
    output: `oifname "eil-*" ${learned}`,
  }
  const elements = nics.map(({ tap, mac }) => `"${tap}" . 0x${mac.replaceAll(':', '')}`).join(', ')
  return [
    `add table ${TABLE}`,
    `add counter ${TABLE} dropped`,
    `add set ${TABLE} nics { typeof oifname . ${CHADDR}; size ${MAX_NICS}; }`,
    `add set ${TABLE} acks { typeof oifname . ${CHADDR} . ${YIADDR}; size ${MAX_NICS}; flags dynamic,timeout; timeout ${ACK_S}s; }`,
    `add set ${TABLE} rogues { type ifname; size ${MAX_ROGUES}; flags dynamic,timeout; timeout ${ROGUE_S}s; }`,
    ...CHAINS.flatMap((chain) => [
      `add chain ${TABLE} ${chain} { type filter hook ${hookOf(chain)} priority -200; policy accept; }`,
      `flush chain ${TABLE} ${chain}`,
      `add rule ${TABLE} ${chain} ${rule[chain]} comment "${RULES[chain]}"`,
    ]),
    `flush set ${TABLE} nics`,
    ...(elements === '' ? [] : [`add element ${TABLE} nics { ${elements} }`]),
  ].join('\n')
}

const Concat = z.object({ concat: z.array(z.union([z.string(), z.number()])) })
const Elements = {
  nics: z.array(Concat),
  acks: z.array(z.object({ elem: z.object({ val: Concat, expires: z.number() }) })),
  rogues: z.array(z.object({ elem: z.object({ val: z.string() }) })),
}
const Listing = z.object({
  nftables: z.array(
    z.looseObject({
      rule: z.looseObject({ chain: z.string(), comment: z.string().optional() }).optional(),
      set: z.looseObject({ name: z.string(), elem: z.array(z.unknown()).optional() }).optional(),
      counter: z.looseObject({ name: z.string(), packets: z.number() }).optional(),
    }),
  ),
})

/** What `nft -j list table` printed of our table. Throws for what is no listing. */
export function readGuard(json: string, nics: readonly LanNic[]): GuardLook {
  const objects = Listing.parse(JSON.parse(json)).nftables
  const rules = objects.flatMap(({ rule }) => (rule ? [`${rule.chain}: ${rule.comment ?? ''}`] : []))
  const set = <Name extends keyof typeof Elements>(name: Name): z.infer<(typeof Elements)[Name]> => {
    const found = objects.find((object) => object.set?.name === name)?.set
    return Elements[name].parse(found?.elem ?? []) as z.infer<(typeof Elements)[Name]>
  }
  const known = new Set(set('nics').map(({ concat }) => `${concat[0]} ${macText(concat[1])}`))
  const wanted = CHAINS.map((chain) => `${chain}: ${RULES[chain]}`)
  return {
    whole:
      rules.toSorted().join('\n') === wanted.toSorted().join('\n') &&
      known.size === nics.length &&
      nics.every(({ tap, mac }) => known.has(`${tap} ${mac}`)),
    acks: set('acks').map(({ elem: { val, expires } }) => ({
      tap: String(val.concat[0]),
      mac: macText(val.concat[1]),
      ip: ipText(val.concat[2]),
      ageS: ACK_S - expires,
    })),
    rogues: set('rogues').map(({ elem }) => elem.val),
    dropped: objects.find(({ counter }) => counter?.name === 'dropped')?.counter?.packets ?? 0,
  }
}

const bytesOf = (value: unknown, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.floor(Number(value) / 256 ** (count - 1 - i)) % 256)
const macText = (value: unknown): string =>
  bytesOf(value, 6)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':')
const ipText = (value: unknown): string => bytesOf(value, 4).join('.')

/** The table `bridge eitri` of this network namespace. Every call may be repeated. */
export class BridgeGuard {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  /** Whole or as it was. Raises `vm/network-failed`. */
  async program(nics: readonly LanNic[]): Promise<void> {
    const done = await named(ask(this.#run, 'guard.program', ['nft', guardRules(nics)]))
    if (done.code !== 0) throw failed(done)
  }

  /** Undefined = there is no such table. Raises `vm/network-failed`. */
  async look(nics: readonly LanNic[]): Promise<GuardLook | undefined> {
    const shown = await named(ask(this.#run, 'guard.look', ['nft', '-j', 'list', 'table', ...TABLE.split(' ')]))
    if (isMissing(shown)) return undefined
    if (shown.code !== 0) throw failed(shown)
    return readGuard(shown.stdout, nics)
  }

  /** Touches nothing where nothing of ours is: without nft there is no table that an agent made. Raises `vm/network-failed`. */
  async remove(): Promise<void> {
    const argv = ['nft', 'delete', 'table', ...TABLE.split(' ')] as const
    const done = await ask(this.#run, 'guard.remove', argv).catch((error) => {
      if (!isWithoutNft(error)) throw error
    })
    if (done && done.code !== 0 && !isMissing(done)) throw failed(done)
  }
}

const isMissing = ({ code, stderr }: RunResult): boolean => code !== 0 && stderr.includes('No such file or directory')

const isWithoutNft = (error: unknown): boolean => findFault(error)?.code === 'vmm/missing'

async function named(result: Promise<RunResult>): Promise<RunResult> {
  try {
    return await result
  } catch (error) {
    if (!isWithoutNft(error)) throw error
    throw new Fault('vm/network-failed', 'permanent', { detail: 'nft is not installed (nftables)' }, { cause: error })
  }
}

/** The first line says what, those after it repeat the rule. */
const failed = (result: RunResult): Fault =>
  new Fault('vm/network-failed', dispositionOf(result), { detail: `nft ${lastWords(result).split('\n')[0]}` })
