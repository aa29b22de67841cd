import { asFault } from '../../ipc/faults.ts'
import { ensureDir } from '../os/files.ts'
import { takeLock } from '../os/lock.ts'
import type { Processes } from '../os/process.ts'
import { NETWORK_PROGRAMS, type NetworkFacts, notOwnedBecause } from './network-choice.ts'
import { type NetworkPlace, ownNetworkPlace } from './network-place.ts'

/** dnsmasq, which is not root, finds its files in it. */
const PASSABLE = 0o755

/** Whether this agent owns the network of the namespace it is in. */
export interface Ownership {
  owns: boolean
  /** Why not, one sentence; '' when it owns it. */
  because: string
  asked: 'auto' | 'user'
  facts: Omit<NetworkFacts, 'cidr'>
  /** What of the facts a person may change while the agent runs, looked up anew. */
  missing(): Promise<string[]>
  /** Undefined when it does not own it. */
  place: NetworkPlace | undefined
  /** Idempotent. */
  release(): Promise<void>
}

export interface OwnerOptions {
  platform: NodeJS.Platform
  asked: 'auto' | 'user'
  root: boolean
  find(program: string): Promise<string | undefined>
  processes: Processes
  /** Absent = that of this process's network namespace. */
  place?: () => Promise<NetworkPlace>
}

/** Takes the network of this namespace when nobody else has it; one agent at a time does. Raises nothing. */
export async function ownNetwork(options: OwnerOptions): Promise<Ownership> {
  const { platform, asked, root, find, processes, place = ownNetworkPlace } = options
  const missing = async () => {
    const found = await Promise.all(NETWORK_PROGRAMS.map((program) => find(program)))
    return NETWORK_PROGRAMS.filter((_, n) => !found[n])
  }
  const facts = { asked, root, holder: '', missing: await missing() }
  const without = (because: string, change: Partial<typeof facts & { trouble: string }> = {}): Ownership => ({
    owns: false,
    because,
    asked,
    facts: { ...facts, ...change },
    missing,
    place: undefined,
    release: async () => {},
  })
  if (platform !== 'linux') return without('The operating system owns the network of the guests.')
  const because = notOwnedBecause(facts)
  if (because !== '') return without(because)
  try {
    const found = await place()
    await ensureDir('network.dir', found.dir, PASSABLE)
    const release = await takeLock(found.lock, processes)
    return { owns: true, because: '', asked, facts, missing, place: found, release }
  } catch (error) {
    const fault = asFault(error)
    const isHeld = fault.code === 'agent/already-running'
    const why = isHeld ? { holder: fault.params['pid'] ?? 'unknown' } : { trouble: fault.message }
    return without(notOwnedBecause({ ...facts, ...why }), why)
  }
}
