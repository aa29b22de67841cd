import { Fault } from '../../../ipc/faults.ts'
import type { Keep } from '../tasks/task-context.ts'
import { KeyRing, type Secrets } from './ssh/credentials.ts'

/** Keeps secrets beyond the life of this process. Its methods reject with an app/* fault where it cannot. */
export interface SecretKeeper {
  /** Undefined = it keeps none for this host. */
  read(hostId: string): Promise<string | undefined>
  /** In place of what it kept. */
  write(hostId: string, secret: string): Promise<void>
  /** Idempotent. */
  remove(hostId: string): Promise<void>
}

/** Secrets of the hosts: in memory, and where a person said so with a keeper too. Never in a fault, a log or an argument. */
export class HostSecrets {
  readonly ring = new KeyRing()
  readonly #keeper: SecretKeeper | undefined
  readonly #byHost = new Map<string, Secrets>()
  readonly #kept = new Set<string>()
  readonly #loads = new Map<string, Promise<void>>()
  readonly #listeners = new Set<(hostId: string) => void>()

  constructor(keeper?: SecretKeeper) {
    this.#keeper = keeper
  }

  /** As known in memory: `load` first where a keeper may know more. */
  of(hostId: string): Secrets {
    return this.#byHost.get(hostId) ?? {}
  }

  /** Where the host's secrets are, as far as they were loaded; undefined = none are known. */
  keptIn(hostId: string): Keep | undefined {
    if (this.#kept.has(hostId)) return 'keychain'
    return Object.keys(this.of(hostId)).length > 0 ? 'memory' : undefined
  }

  /** Reads the keeper once for each host. A keeper that cannot be read is as one without: the person is asked. */
  async load(hostId: string): Promise<Secrets> {
    const keeper = this.#keeper
    if (!keeper) return this.of(hostId)
    const reading =
      this.#loads.get(hostId) ??
      keeper.read(hostId).then(
        (text) => {
          const kept = text === undefined ? undefined : parsed(text)
          if (!kept) return
          this.#kept.add(hostId)
          this.#byHost.set(hostId, { ...kept, ...this.of(hostId) })
          this.#tell(hostId)
        },
        () => void this.#loads.delete(hostId),
      )
    this.#loads.set(hostId, reading)
    await reading
    return this.of(hostId)
  }

  /** Adds to what is known; an empty or absent secret leaves the known one. Never raises: see `keep`. */
  give(hostId: string, secrets: Secrets): void {
    const given = Object.entries(secrets).filter(([, value]) => value !== undefined && value !== '')
    if (given.length === 0) return
    this.#byHost.set(hostId, { ...this.of(hostId), ...Object.fromEntries(given) })
    this.#tell(hostId)
  }

  /** Puts what is known of the host where the person said. Raises app/part-missing without a keeper for that. */
  async keep(hostId: string, where: Keep): Promise<void> {
    if (where === 'memory') {
      if (this.#kept.delete(hostId)) await this.#keeper?.remove(hostId)
      this.#tell(hostId)
      return
    }
    this.mustKeep(where)
    await this.#keeper!.write(hostId, JSON.stringify(this.of(hostId)))
    this.#loads.set(hostId, Promise.resolve())
    this.#kept.add(hostId)
    this.#tell(hostId)
  }

  /** Raises app/part-missing when there is nothing to keep secrets in. */
  mustKeep(where: Keep): void {
    if (where === 'memory' || this.#keeper) return
    const next = 'Start the app on a desktop with one, or let secrets stay in memory.'
    throw new Fault('app/part-missing', 'permanent', { part: "The system's keychain", next })
  }

  /** The host did not take this password: it is never sent again by itself. */
  async refused(hostId: string): Promise<void> {
    const { password: _, ...rest } = this.of(hostId)
    this.#byHost.set(hostId, rest)
    if (this.#kept.has(hostId)) await this.keep(hostId, 'keychain').catch(() => {})
  }

  /** Everywhere. Keys opened by a passphrase are locked again. Idempotent. Raises what the keeper raises. */
  async forget(hostId: string): Promise<void> {
    this.#byHost.delete(hostId)
    this.#kept.delete(hostId)
    this.ring.clear()
    await this.#keeper?.remove(hostId)
    if (this.#keeper) this.#loads.set(hostId, Promise.resolve())
    this.#tell(hostId)
  }

  /** Called when where a host's secrets are may have changed; returns its stop function. */
  onChange(listener: (hostId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(hostId: string): void {
    for (const listener of this.#listeners) listener(hostId)
  }
}

/** What a person gave for a host, kept where they said. Raises app/part-missing, with nothing given. */
export async function giveSecrets(known: HostSecrets, hostId: string, secrets: Secrets, keep: Keep): Promise<void> {
  known.mustKeep(keep)
  await known.load(hostId)
  known.give(hostId, secrets)
  if (known.keptIn(hostId)) await known.keep(hostId, keep)
}

/** Where secrets stay, as clients say it; empty = memory. Raises input/invalid. */
export function keepOf(said: string): Keep {
  if (said === '' || said === 'memory') return 'memory'
  if (said === 'keychain') return said
  throw new Fault('input/invalid', 'permanent', {
    field: 'keep',
    value: said.slice(0, 40),
    problem: 'say memory or keychain',
  })
}

function parsed(text: string): Secrets | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const known = Object.entries(value).filter(
      ([name, secret]) => typeof secret === 'string' && ['password', 'passphrase', 'sudoPassword'].includes(name),
    )
    return Object.fromEntries(known)
  } catch {
    return undefined
  }
}
