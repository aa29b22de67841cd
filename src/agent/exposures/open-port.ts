import { codeOf } from '../os/read-files.ts'
import type { WantedPort } from './exposure-plan.ts'
import { type PortListener, type ProxyParts, TcpProxy } from './tcp-proxy.ts'
import { UdpProxy } from './udp-proxy.ts'

/** A host without IPv6 says one of these. */
const NO_IPV6 = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL', 'EPROTONOSUPPORT']

/** Opens a port on every address its scope names; all or nothing. Raises what the system says. */
export async function openPort({ protocol, scope, hostPort }: WantedPort, parts: ProxyParts): Promise<PortListener> {
  const proxy = protocol === 'tcp' ? new TcpProxy(parts) : new UdpProxy(parts)
  const listen = async (host: string, fallback?: string) => {
    try {
      await proxy.listen(host, hostPort)
    } catch (error) {
      if (!NO_IPV6.includes(codeOf(error)) || !host.includes(':')) throw error
      if (fallback) await proxy.listen(fallback, hostPort)
    }
  }
  try {
    if (scope === 'loopback') {
      await listen('127.0.0.1')
      await listen('::1')
    } else await listen('::', '0.0.0.0')
  } catch (error) {
    await proxy.close()
    throw error
  }
  return proxy
}

/** One sentence. `holder` is the program that has it, '' = not known. */
export function whyNotOpen(error: unknown, { hostPort, protocol }: WantedPort, holder: string): string {
  const code = codeOf(error)
  const name = protocol === 'udp' ? `UDP port ${hostPort}` : `Port ${hostPort}`
  if (code === 'EADDRINUSE') return `${name} is used by ${holder === '' ? 'another program' : holder}.`
  if (code === 'EACCES') return `${name} is for programs of root, and the agent of this host does not run as root.`
  return `${name} cannot be opened (${code === '' ? String(error).slice(0, 100) : code}).`
}
