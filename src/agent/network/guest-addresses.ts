import { parseCidr } from '../../ipc/base/cidr.ts'

/** An IPv4 network as numbers: its own address, the gateway's, the last a guest can have. */
interface Span {
  base: number
  last: number
  prefix: number
}

/** Undefined for anything that is no IPv4 network with room for a gateway and a guest. */
function spanOf(cidr: string): Span | undefined {
  const network = parseCidr(cidr)
  if (network?.version !== 4 || network.prefix > 30) return undefined
  const base = Number(network.base)
  return { base, last: base + 2 ** (32 - network.prefix) - 2, prefix: network.prefix }
}

const textOf = (address: number): string => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')

function numberOf(ip: string): number | undefined {
  const host = parseCidr(`${ip}/32`)
  return host?.version === 4 ? Number(host.base) : undefined
}

/** The host's address on a guest network: its first. '' = it is no IPv4 network. */
export function gatewayOf(cidr: string): string {
  const span = spanOf(cidr)
  return span ? textOf(span.base + 1) : ''
}

/** Like 255.255.255.0. */
export function netmaskOf(cidr: string): string {
  const prefix = spanOf(cidr)?.prefix ?? 32
  return textOf(Number((0xffffffffn << BigInt(32 - prefix)) & 0xffffffffn))
}

/** Whether a guest of this network can have the address. */
export function isGuestAddress(cidr: string, ip: string): boolean {
  const [span, address] = [spanOf(cidr), numberOf(ip)]
  return span !== undefined && address !== undefined && address > span.base + 1 && address <= span.last
}

/** The lowest address that nobody has; '' = the network is full. */
export function freeAddress(cidr: string, taken: ReadonlySet<string>): string {
  const span = spanOf(cidr)
  if (!span) return ''
  for (let address = span.base + 2; address <= span.last; address++)
    if (!taken.has(textOf(address))) return textOf(address)
  return ''
}
