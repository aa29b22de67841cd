import { Fault } from '../../../ipc/faults.ts'
import { OWN_NETDEV } from './argv.ts'

type Protocol = 'tcp' | 'udp'

/** A command of the human monitor; resolves with what it printed. */
export type HumanMonitor = (command: string) => Promise<string>

const LOOPBACK = '127.0.0.1'

/** The loopback port that leads to a port of the guest, in what `info usernet` printed; undefined = none does. */
export function forwardedPort(usernet: string, protocol: Protocol, guestPort: number): number | undefined {
  for (const line of usernet.split(/\r?\n/)) {
    const [kind, , from, port, , to] = line.trim().split(/\s+/)
    if (kind === `${protocol.toUpperCase()}[HOST_FORWARD]` && from === LOOPBACK && Number(to) === guestPort)
      return Number(port)
  }
  return undefined
}

/** The way there is, or a new one: the kernel picks its port. Raises `vmm/failed` with what QEMU says against it. */
export async function forwardPort(monitor: HumanMonitor, protocol: Protocol, guestPort: number): Promise<number> {
  const look = async () => forwardedPort(await monitor('info usernet'), protocol, guestPort)
  const known = await look()
  if (known !== undefined) return known
  const said = (await monitor(`hostfwd_add ${OWN_NETDEV} ${protocol}:${LOOPBACK}:0-:${guestPort}`)).trim()
  const made = said === '' ? await look() : undefined
  if (made !== undefined) return made
  throw new Fault('vmm/failed', 'transient', { detail: said.slice(0, 200) || 'it forwards no port' })
}
