import { setTimeout as delay } from 'node:timers/promises'
import type { CliOptions, CliResult, Desktop } from './eitri.ts'
import type { SshHost } from './ssh-host.ts'

const ADD_TIMEOUT_MS = 90_000
const LINK_TIMEOUT_MS = 20_000
const LINK_POLL_MS = 200

/** Arguments that add a test host with its key and the fingerprint it really has. */
export function addArguments(host: SshHost, user = 'root'): string[] {
  const key = ['--identity', host.clientKeyPath, '--accept-host-key', host.hostKeyFingerprint]
  return ['host', 'add', host.name, '--ssh', `${user}@${host.address}`, ...key]
}

/** Adds a host over SSH and waits until its lasting link stands; answers the CLI's document of it. */
export async function addHost(desktop: Desktop, host: SshHost, user = 'root'): Promise<any> {
  await desktop.must(addArguments(host, user), { timeoutMs: ADD_TIMEOUT_MS })
  return connected(desktop, host.name)
}

/** The host once its lasting link stands, which follows the onboarding's own. */
export async function connected(desktop: Desktop, name: string): Promise<any> {
  const deadline = Date.now() + LINK_TIMEOUT_MS
  for (;;) {
    const shown = await desktop.must(['host', 'show', name])
    if (shown.link === 'connected') return shown
    if (Date.now() > deadline) throw new Error(`${name} stays ${shown.link}: ${JSON.stringify(shown.link_fault)}`)
    await delay(LINK_POLL_MS)
  }
}

export const tryAddHost = (desktop: Desktop, args: string[], options: CliOptions = {}): Promise<CliResult> =>
  desktop.cli(['host', 'add', ...args], { timeoutMs: ADD_TIMEOUT_MS, ...options })

export const linkOf = async (desktop: Desktop, host: string): Promise<string> =>
  (await desktop.must(['host', 'show', host])).link

/** The agents and VMMs of a host, found by their command lines; an agent's probe of the processor is no VMM of a VM. */
export const agentsOf = (host: SshHost) =>
  host.listProcesses().filter((p) => /eitri-agent/.test(p.argv[0] ?? '') && p.argv.includes('serve'))
export const vmmsOf = (host: SshHost) =>
  host.listProcesses().filter((p) => /qemu-system/.test(p.argv[0] ?? '') && p.argv.some((a) => a.startsWith('guest=')))
