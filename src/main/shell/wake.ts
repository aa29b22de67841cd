import { fleetClient } from '../fleet-client.ts'

const WAKE_MS = 10_000

/** The computer woke: every host of every tenant is dialled now instead of at its next back-off. Best effort. */
export async function wakeHosts(socketPath: string): Promise<void> {
  const timeout = { timeoutMs: WAKE_MS }
  const { tenants } = await fleetClient(socketPath, { client: 'app' }).tenants.listTenants({}, timeout)
  const all = tenants.map(async ({ name }) => {
    const fleet = fleetClient(socketPath, { client: 'app', tenant: name })
    const { hosts } = await fleet.hosts.listHosts({}, timeout)
    await Promise.allSettled(hosts.map((h) => fleet.hosts.reconnectHost({ host: h.id }, timeout)))
  })
  await Promise.allSettled(all)
}
