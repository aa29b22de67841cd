import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import type { Ack, GuardLook, LanNic } from './bridge-guard.ts'

/** Between looks while a guest that was just started has no address, ms; and else. */
const WAITING_MS = 1_000
const SETTLED_MS = 10_000
/** How long after its start a guest is waited for, ms. */
const PATIENCE_MS = 120_000
/** Between looks that are no looks, since nobody needs the table. */
const IDLE_MS = 3_600_000

/** The kernel's side, as BridgeGuard does it. */
export interface Guard {
  program(nics: readonly LanNic[]): Promise<void>
  look(nics: readonly LanNic[]): Promise<GuardLook | undefined>
  remove(): Promise<void>
}

/** A VM with a NIC on a network of the operator, from its first start until nothing of it is left. */
export interface Attachment extends LanNic {
  readonly vmId: string
  readonly vmName: string
  readonly network: string
  /** '' = not known yet. */
  ip: string
  /** When its DHCP server last gave it, ms since the epoch; absent = before this agent. */
  seenAt?: number
}

export interface LanAddressesDeps {
  guard: Guard
  /** The table is needed though no VM has a NIC on such a network. */
  always: boolean
  clock: Clock
  log: Log
  /** Of what comes once `start` has resolved. */
  onAddress(vmId: string): void
}

interface Kept {
  attachment: Attachment
  armed: boolean
  /** Monotonic; older answers were for somebody else. */
  since: number
  /** Monotonic; until then its address is waited for. */
  awaitedUntil: number
}

/**
 * Who is on the operator's networks, and what address each got. Whoever is in its map counts and nobody else: whatever was
 * under way for a VM that has gone, or for an earlier one of the same id, is never written.
 */
export class LanAddresses {
  readonly #deps: LanAddressesDeps
  readonly #kept = new Map<string, Kept>()
  readonly #closing = new AbortController()
  #wake = new AbortController()
  #turn: Promise<unknown> = Promise.resolve()
  #looping: Promise<void> | undefined
  #look: GuardLook | undefined
  #problem = ''

  constructor(deps: LanAddressesDeps) {
    this.#deps = deps
  }

  /** Why the table is not as it should be; '' = it is. */
  get problem(): string {
    return this.#problem
  }

  /** Frames of DHCP servers in guests that were dropped. */
  get dropped(): number {
    return this.#look?.dropped ?? 0
  }

  /** VMs that answered as DHCP servers within the last ten minutes. */
  rogues(): Attachment[] {
    const taps = new Set(this.#look?.rogues)
    return this.all().filter(({ tap }) => taps.has(tap))
  }

  all(): Attachment[] {
    return [...this.#kept.values()].map(({ attachment }) => attachment)
  }

  of(vmId: string): Attachment | undefined {
    return this.#kept.get(vmId)?.attachment
  }

  /** What is known of it stays: a boot is tried again without losing the address. */
  keep(vm: Omit<Attachment, 'ip' | 'seenAt'>): Attachment {
    const known = this.of(vm.vmId)
    if (known?.network === vm.network) return known
    return this.#put({ ...vm, ip: '' }, this.#deps.clock.monotonic())
  }

  /** Of an earlier life of the agent; `armed` = its tap is there. */
  adopt(attachment: Attachment, armed: boolean): void {
    this.#put(attachment, Number.NEGATIVE_INFINITY)
    this.#kept.get(attachment.vmId)!.armed = armed
  }

  /**
   * The table is as it should be when it resolves, and what it learned before is known. Never raises: what failed is said
   * by `problem`, and tried again.
   */
  async start(): Promise<void> {
    await this.#quietly(async () => {
      await this.#settle()
      if (this.#nics().length > 0) await this.look()
    })
    this.#looping = this.#loop()
  }

  /**
   * Its address is learned from now on, and its guest is guarded. Raises `vm/network-failed`, then as if it had not been
   * called; not for a VM that has gone meanwhile.
   */
  async arm({ vmId }: Attachment): Promise<void> {
    const kept = this.#kept.get(vmId)
    if (!kept) return
    const before = kept.armed
    kept.armed = true
    try {
      await this.#settle()
    } catch (error) {
      if (this.#kept.get(vmId) !== kept) return
      kept.armed = before
      throw error
    }
    kept.awaitedUntil = this.#deps.clock.monotonic() + PATIENCE_MS
    this.#wake.abort()
  }

  /** Nothing of it is written or learned any more; never raises. */
  async drop(vmId: string): Promise<void> {
    if (!this.#kept.delete(vmId)) return
    await this.#settle().catch((error) =>
      this.#deps.log.warn('network.guard-failed', { error: asFault(error).message }),
    )
  }

  /** Takes what was learned, and mends the table where others emptied it. Raises `vm/network-failed`. */
  async look(): Promise<void> {
    if (!this.#needed()) return
    const asked = [...this.#kept.values()]
    await this.#inTurn(async () => {
      const nics = this.#nics()
      const look = await this.#deps.guard.look(nics)
      if (look) this.#take(look, asked)
      if (look?.whole) return
      if (this.#problem === '') this.#deps.log.warn('network.guard-mended', { found: look ? 'changed' : 'gone' })
      await this.#deps.guard.program(nics)
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#wake.abort()
    await this.#looping
    await this.#turn
  }

  #put(attachment: Attachment, since: number): Attachment {
    this.#kept.set(attachment.vmId, { attachment, armed: false, since, awaitedUntil: Number.NEGATIVE_INFINITY })
    return attachment
  }

  #needed(): boolean {
    return this.#deps.always || this.#nics().length > 0
  }

  #nics(): LanNic[] {
    return [...this.#kept.values()].filter(({ armed }) => armed).map(({ attachment }) => attachment)
  }

  #settle(): Promise<void> {
    return this.#inTurn(() => (this.#needed() ? this.#deps.guard.program(this.#nics()) : this.#deps.guard.remove()))
  }

  /** One program at the table at a time, each with the NICs of its own moment. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#turn.then(work).then(
      () => {
        this.#problem = ''
      },
      (error: unknown) => {
        this.#problem = asFault(error).params['detail'] ?? asFault(error).message
        throw error
      },
    )
    this.#turn = next.catch(() => {})
    return next
  }

  #take(look: GuardLook, asked: readonly Kept[]): void {
    this.#look = look
    const byTap = Map.groupBy(look.acks, ({ tap }) => tap)
    for (const kept of asked) {
      if (this.#kept.get(kept.attachment.vmId) !== kept) continue
      const ack = this.#newest(kept, byTap.get(kept.attachment.tap) ?? [])
      if (ack) this.#record(kept.attachment, ack)
    }
  }

  /** Of two in the same second the one known already: addresses do not flap. */
  #newest({ attachment, since }: Kept, acks: readonly Ack[]): Ack | undefined {
    const youngest = (this.#deps.clock.monotonic() - since) / 1_000 + 1
    return acks
      .filter(({ mac, ageS }) => mac === attachment.mac && ageS <= youngest)
      .toSorted((a, b) => a.ageS - b.ageS || Number(b.ip === attachment.ip) - Number(a.ip === attachment.ip))[0]
  }

  #record(attachment: Attachment, { ip, ageS }: Ack): void {
    const { clock, log, onAddress } = this.#deps
    const seenAt = clock.now() - ageS * 1_000
    const known = attachment.ip === ip
    // Whole seconds: the same answer seems to come a little earlier or later at each look.
    if (!known || attachment.seenAt === undefined || seenAt > attachment.seenAt + 1_500) attachment.seenAt = seenAt
    if (known) return
    log.info('network.lan-address', { vm: attachment.vmId, network: attachment.network, ip })
    attachment.ip = ip
    if (this.#looping) onAddress(attachment.vmId)
  }

  /** Logs the same trouble once. */
  async #quietly(work: () => Promise<void>): Promise<void> {
    const before = this.#problem
    await work().catch((error) => {
      if (this.#problem !== before) this.#deps.log.warn('network.guard-failed', { error: asFault(error).message })
    })
  }

  async #loop(): Promise<void> {
    const { clock } = this.#deps
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController()
      const slept = await clock.sleep(this.#pauseMs(), this.#wake.signal).then(
        () => true,
        () => false,
      )
      // Woken: how long to sleep is another now.
      if (!slept) continue
      await this.#quietly(() => this.look())
    }
  }

  #pauseMs(): number {
    if (!this.#needed()) return IDLE_MS
    const now = this.#deps.clock.monotonic()
    const awaits = ({ attachment, armed, awaitedUntil }: Kept) => armed && attachment.ip === '' && now < awaitedUntil
    return [...this.#kept.values()].some(awaits) ? WAITING_MS : SETTLED_MS
  }
}
