import { Fault } from '../../../ipc/faults.ts'
import type { ConfiguredHost, SshTarget } from './ssh/config.ts'
import type { Destination } from './ssh/destination.ts'
import { MAX_HOPS, parseJump } from './ssh/jump-spec.ts'

export type ReadHost = (destination: Destination) => Promise<ConfiguredHost>

/**
 * The hosts to go through, first to dial first, as OpenSSH finds them: the first of a list may have a ProxyJump of its own,
 * the others are reached through those before them. Raises ssh/config-invalid for a circle and for more than eight.
 */
export async function readChain(target: SshTarget, jump: string, read: ReadHost): Promise<ConfiguredHost[]> {
  const { host } = target
  const chain: ConfiguredHost[] = []
  const seen = new Set([placeOf(target)])
  for (let list = parseJump(jump); list.length > 0; ) {
    const hops = await Promise.all(list.map(read))
    for (const hop of hops) {
      const place = placeOf(hop.target)
      if (seen.has(place)) throw broken(host, `its jump hosts go in circles at ${hop.target.host}`)
      seen.add(place)
    }
    chain.unshift(...hops)
    if (chain.length > MAX_HOPS) throw broken(host, `it has more than ${MAX_HOPS} jump hosts`)
    const first = hops[0]
    // A ProxyCommand wins there, and is OpenSSH's alone.
    list = first && first.says.proxyCommand === '' ? parseJump(first.says.proxyJump) : []
  }
  return chain
}

/** Faults and questions name the host they are about, and where it leads. */
export const onTheWay = (hop: SshTarget, host: string): SshTarget => ({
  ...hop,
  host: `${hop.host} (on the way to ${host})`,
})

const placeOf = ({ address, port }: SshTarget): string => `${address.toLowerCase()}:${port}`

const broken = (host: string, detail: string) => new Fault('ssh/config-invalid', 'permanent', { host, detail })
