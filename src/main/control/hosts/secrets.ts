import { KeyRing, type Secrets } from './ssh/credentials.ts'

/** Secrets of the hosts, for the life of this process and nowhere else. */
export class HostSecrets {
  readonly ring = new KeyRing()
  readonly #byHost = new Map<string, Secrets>()

  of(hostId: string): Secrets {
    return this.#byHost.get(hostId) ?? {}
  }

  /** Adds to what is known; an empty or absent secret leaves the known one. */
  give(hostId: string, secrets: Secrets): void {
    const given = Object.entries(secrets).filter(([, value]) => value !== undefined && value !== '')
    if (given.length > 0) this.#byHost.set(hostId, { ...this.of(hostId), ...Object.fromEntries(given) })
  }

  forget(hostId: string): void {
    this.#byHost.delete(hostId)
  }
}
