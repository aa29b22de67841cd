import { z } from 'zod'

/** An IP network. */
export interface Cidr {
  version: 4 | 6
  /** Its lowest address as a number. */
  base: bigint
  prefix: number
}

const IPV4 = z.ipv4()
const IPV6 = z.ipv6()
const isIP = (text: string): 4 | 6 | 0 => (IPV4.safeParse(text).success ? 4 : IPV6.safeParse(text).success ? 6 : 0)

const BITS = { 4: 32, 6: 128 } as const
/** A guest network holds at least a dozen VMs, and leaves others of its range to other hosts. */
const GUEST_PREFIX = { 4: { min: 16, max: 28 }, 6: { min: 48, max: 64 } } as const

/** Undefined for anything that is not `address/prefix` with no bits behind the prefix. */
export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', digits = ''] = /^([\da-fA-F:.]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  if (version === 0) return undefined
  const prefix = Number(digits)
  if (prefix > BITS[version]) return undefined
  const base = version === 4 ? bitsOf(address.split('.').map(Number), 8) : bitsOf(hextets(address), 16)
  return topBits(base, version, prefix) === base ? { version, base, prefix } : undefined
}

/** The network an address with prefix, such as an interface has, lies in. */
export function networkOf(text: string): Cidr | undefined {
  const [address, prefix] = text.split('/')
  const host = parseCidr(`${address}/${isIP(address ?? '') === 6 ? 128 : 32}`)
  if (!host || !/^\d{1,3}$/.test(prefix ?? '') || Number(prefix) > BITS[host.version]) return undefined
  return { ...host, base: topBits(host.base, host.version, Number(prefix)), prefix: Number(prefix) }
}

/** True when they have an address in common. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  if (a.version !== b.version) return false
  const prefix = Math.min(a.prefix, b.prefix)
  return topBits(a.base, a.version, prefix) === topBits(b.base, b.version, prefix)
}

const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'].map((text) => parseCidr(text)!)

/** Why it cannot be a network of guests, in words; empty = it can. */
export function guestCidrProblem(text: string): string {
  const cidr = parseCidr(text)
  if (!cidr) return 'it is no network; write it like 10.77.0.0/24'
  const home = PRIVATE.find((range) => overlaps(range, cidr))
  if (!home || home.prefix > cidr.prefix) return 'it is not a private network'
  const { min, max } = GUEST_PREFIX[cidr.version]
  return cidr.prefix < min || cidr.prefix > max ? `its size must be from /${min} to /${max}` : ''
}

function topBits(value: bigint, version: 4 | 6, prefix: number): bigint {
  const low = BigInt(BITS[version] - prefix)
  return (value >> low) << low
}

function bitsOf(parts: readonly number[], width: number): bigint {
  return parts.reduce((bits, part) => (bits << BigInt(width)) | BigInt(part), 0n)
}

/** Eight numbers of a valid IPv6 address. */
function hextets(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const plain = dotted ? `${dotted[1]}${pair(dotted[2]!, dotted[3]!)}:${pair(dotted[4]!, dotted[5]!)}` : address
  const [head = '', tail] = plain.split('::')
  const numbers = (text: string) => (text === '' ? [] : text.split(':').map((part) => Number.parseInt(part, 16)))
  if (tail === undefined) return numbers(head)
  const [left, right] = [numbers(head), numbers(tail)]
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
}

const pair = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16)
