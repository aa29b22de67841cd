import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { CaKind, CaRow, CaState, CasStore } from '../store/cas-store.ts'
import type { CaKeys, OpenedKey } from './ca-keys.ts'
import { blobInLine, blobOf, canonicalLine } from './openssh/public-key.ts'

export interface AuthoritiesDeps {
  cas: CasStore
  keys: CaKeys
  clock: Clock
  log: Log
}

/** Between two tries of the loops that need a key; a person who asks is never made to wait. */
const RETRY_MS = 60_000

/** The CAs of all tenants with what can be signed with now. Opened keys stay in the memory of this process. */
export class Authorities {
  readonly #deps: AuthoritiesDeps
  readonly #open = new Map<string, KeyObject>()
  readonly #problems = new Map<string, { words: string; at: number }>()
  readonly #opening = new Map<string, Promise<OpenedKey>>()
  readonly #opened = new Set<(ca: CaRow) => void>()

  constructor(deps: AuthoritiesDeps) {
    this.#deps = deps
  }

  /** Its private key, where it is open already. */
  key(ca: CaRow): KeyObject | undefined {
    return this.#open.get(ca.id)
  }

  /** Why the last try to open its key failed; empty = it did not, or there was none. */
  problem(ca: CaRow): string {
    return this.#open.has(ca.id) ? '' : (this.#problems.get(ca.id)?.words ?? '')
  }

  /** Its private key. Raises ca/held-elsewhere, ca/key-removed and ca/key-unusable. */
  async open(ca: CaRow): Promise<KeyObject> {
    const open = this.#open.get(ca.id)
    if (open) return open
    if (ca.held === 'elsewhere') throw new Fault('ca/held-elsewhere', 'permanent', { ca: ca.name })
    const outcome = await this.#try(ca)
    if (outcome.kind === 'key') return outcome.key
    if (ca.state === 'retired') throw new Fault('ca/key-removed', 'permanent', { ca: ca.name })
    const { detail, next } = outcome
    throw new Fault('ca/key-unusable', 'transient', { ca: ca.name, detail, ...(next ? { next } : {}) })
  }

  /** The key of the CA that signs, where it is open; else it is being opened, and listeners of `onOpened` hear of it. */
  signer(tenant: string, kind: CaKind): { ca: CaRow; key: KeyObject } | undefined {
    const ca = this.#deps.cas.signing(tenant, kind)
    if (!ca || ca.held === 'elsewhere') return undefined
    const key = this.#open.get(ca.id)
    if (key) return { ca, key }
    const { at = Number.NEGATIVE_INFINITY } = this.#problems.get(ca.id) ?? {}
    if (this.#deps.clock.monotonic() - at >= RETRY_MS) void this.#try(ca)
    return undefined
  }

  /** Called with each CA whose key came open. */
  onOpened(listener: (ca: CaRow) => void): void {
    this.#opened.add(listener)
  }

  /** Tries the keys that are kept here and not open, one after the other; afterwards `problem` is right for each. */
  async openAll(rows: readonly CaRow[]): Promise<void> {
    for (const ca of rows) if (ca.held !== 'elsewhere' && ca.state !== 'retired') await this.#try(ca)
  }

  /** A CA with a new Ed25519 key. Raises ca/name-taken and ca/too-many; a key that cannot be kept raises what keeping it did. */
  create(tenant: string, kind: CaKind, name: string, state: CaState): Promise<CaRow> {
    return this.adopt('ca.create', { tenant, kind, name, state }, generateKeyPairSync('ed25519').privateKey)
  }

  /** The key first, then the row that says it is there. */
  async adopt(
    action: 'ca.create' | 'ca.import',
    ca: { tenant: string; kind: CaKind; name: string; state: CaState },
    key: KeyObject,
  ): Promise<CaRow> {
    const id = randomBytes(16).toString('hex')
    const blob = blobOf(key)
    const held = await this.#keep(id, key)
    try {
      const public_ = { publicKey: canonicalLine(blob), fingerprint: fingerprintOf(blob) }
      const row = this.#deps.cas.add(action, { ...ca, ...public_, id, held })
      this.#setOpen(row, key)
      return row
    } catch (error) {
      await this.#deps.keys.remove(id)
      throw error
    }
  }

  /** The private key of a CA that had none here. */
  async giveKey(ca: CaRow, key: KeyObject): Promise<CaRow> {
    const row = this.#deps.cas.setHeld(ca, await this.#keep(ca.id, key))
    this.#setOpen(row, key)
    return row
  }

  /** Removes its private key, for good. Idempotent. */
  async dropKey(ca: CaRow): Promise<void> {
    this.#open.delete(ca.id)
    this.#problems.delete(ca.id)
    await this.#deps.keys.remove(ca.id)
  }

  async #keep(id: string, key: KeyObject): Promise<'keychain' | 'file'> {
    try {
      return await this.#deps.keys.keep(id, key)
    } catch (error) {
      const detail = `it cannot be kept: ${asFault(error).params['message'] ?? asFault(error).message}`
      throw new Fault('ca/key-unusable', 'permanent', { ca: 'this CA', detail }, { cause: error })
    }
  }

  /** One try at a time for each CA. */
  #try(ca: CaRow): Promise<OpenedKey> {
    const key = this.#open.get(ca.id)
    if (key) return Promise.resolve({ kind: 'key', key })
    const running = this.#opening.get(ca.id) ?? this.#deps.keys.open(ca.id).then((outcome) => this.#learn(ca, outcome))
    this.#opening.set(ca.id, running)
    return running
  }

  #learn(ca: CaRow, outcome: OpenedKey): OpenedKey {
    this.#opening.delete(ca.id)
    const learnt = outcome.kind === 'key' && !blobOf(outcome.key).equals(blobIn(ca)) ? NOT_ITS_OWN : outcome
    if (learnt.kind === 'key') {
      this.#setOpen(ca, learnt.key)
      return learnt
    }
    const words = `${learnt.detail}. ${learnt.next}`.trim()
    if (this.problem(ca) !== words) this.#deps.log.warn('ca.key-unusable', { ca: ca.name, tenant: ca.tenant, words })
    this.#problems.set(ca.id, { words, at: this.#deps.clock.monotonic() })
    return learnt
  }

  #setOpen(ca: CaRow, key: KeyObject): void {
    this.#open.set(ca.id, key)
    this.#problems.delete(ca.id)
    for (const listener of this.#opened) listener(ca)
  }
}

const NOT_ITS_OWN: OpenedKey = { kind: 'unusable', detail: 'its file holds the key of another CA', next: '' }

/** The key of a CA as SSH sends it. */
export const blobIn = ({ publicKey }: Pick<CaRow, 'publicKey'>): Buffer => blobInLine(publicKey)
