import { fleetClient } from '../fleet-client.ts'

const WAKE_MS = 10_000

/** The computer woke: every host is dialled now instead of at its next back-off. Best effort. */
export async function wakeHosts(socketPath: string): Promise<void> {
  const fleet = fleetClient(socketPath, { client: 'app' })
  const { hosts } = await fleet.hosts.listHosts({}, { timeoutMs: WAKE_MS })
  await Promise.allSettled(hosts.map((h) => fleet.hosts.reconnectHost({ host: h.id }, { timeoutMs: WAKE_MS })))
}
