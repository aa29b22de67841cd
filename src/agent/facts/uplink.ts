import { createSocket } from 'node:dgram'
import { BlockList, isIP } from 'node:net'

/** Outside addresses reserved for documentation: nobody's network but the default route leads there. */
const OUTSIDE = { udp4: '203.0.113.1', udp6: '2001:db8::1' } as const
const ANY_PORT = 9

type Family = keyof typeof OUTSIDE

/** Address this host sends from towards the outside; undefined = no route. Nothing is sent. */
export type SourceAddress = (family: Family, towards: string) => Promise<string | undefined>

/** Address on the default route, IPv4 before IPv6; empty = there is none that others could reach. */
export async function uplinkAddress(source: SourceAddress = askKernel): Promise<string> {
  for (const family of ['udp4', 'udp6'] as const) {
    const address = await source(family, OUTSIDE[family]).catch(() => undefined)
    if (address !== undefined && isReachable(address)) return address
  }
  return ''
}

/** A connected UDP socket has the source the kernel would choose, policy routes and preferred sources included. */
const askKernel: SourceAddress = (family, towards) =>
  new Promise((resolve) => {
    const socket = createSocket(family)
    const end = (address: string | undefined) => {
      socket.close()
      resolve(address)
    }
    socket.once('error', () => end(undefined))
    socket.connect(ANY_PORT, towards, () => end(socket.address().address))
  })

const OWN = new BlockList()
OWN.addSubnet('0.0.0.0', 8)
OWN.addSubnet('127.0.0.0', 8)
OWN.addSubnet('169.254.0.0', 16)
OWN.addAddress('::', 'ipv6')
OWN.addAddress('::1', 'ipv6')
OWN.addSubnet('fe80::', 10, 'ipv6')

const isReachable = (address: string): boolean =>
  isIP(address) !== 0 && !OWN.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
