import { asFault } from '../../../ipc/faults.ts'
import type { Ports } from '../ports.ts'
import type { Stores } from '../store/stores.ts'
import type { Registry } from '../sync/registry.ts'
import type { CaKeyFiles } from './ca-keys.ts'
import { createTrust, type Trust } from './trust.ts'

/** The trust of this store with its keys on this computer; opens nothing before `start`. */
export function fleetTrust({ clock, log }: Ports, stores: Stores, registry: Registry, keys: CaKeyFiles): Trust {
  const trust = createTrust({ stores, registry, keys, clock, log })
  const lock = async () => {
    try {
      const locked = await keys.lockByPassphrase()
      if (locked > 0) log.info('ca.locked', { keys: locked })
    } catch (error) {
      log.warn('ca.not-locked', { message: asFault(error).message })
    }
  }
  return {
    ...trust,
    async start() {
      await lock()
      await trust.start()
    },
  }
}
