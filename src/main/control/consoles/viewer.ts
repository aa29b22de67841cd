import { fullJitterMs } from '../../../ipc/base/backoff.ts'
import type { Clock } from '../../../ipc/base/clock.ts'
import { type ConsoleFrame, type ConsoleLink, cutUtf8 } from '../../../ipc/console-frames.ts'
import { faultText } from '../../../ipc/fault-text.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { ConsoleOpened, ConsoleResponse } from '../../../ipc/gen/eitri/agent/v1/console_pb.js'
import { LIMITS, TIMES } from '../../../ipc/units.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import type { Keyboards, KeyboardViewer } from './keyboards.ts'
import { ConsoleOutbox } from './outbox.ts'

export interface ConsoleVm {
  readonly id: string
  readonly name: string
  readonly hostId: string
  readonly hostName: string
}

export interface ConsoleVms {
  /** A live VM of the tenant by name, any by id, deleted ones too. */
  findForConsole(tenant: string, nameOrId: string): ConsoleVm | undefined
  /** Why it finds none. */
  whyNone(tenant: string, nameOrId: string): string
}

export interface ConsoleSessions {
  active(hostId: string): ActiveSession | undefined
  /** Called at each start (the session) and end (undefined) of a host's session; returns its stop function. */
  onSession(hostId: string, listener: (session: ActiveSession | undefined) => void): () => void
}

/** One window's side of one console. */
export interface ConsoleSink {
  /** Resolves when the window takes more; never rejects. Frames keep their order. */
  send(frame: ConsoleFrame): Promise<void>
  /** After this nothing is sent for the console. */
  ended(): void
  /** Input may come again after `input` answered false. */
  inputDrained(): void
}

export interface ViewerParts {
  tenant: string
  vms: ConsoleVms
  sessions: ConsoleSessions
  keyboards: Keyboards
  clock: Clock
}

const RETRY = { floorMs: 250, capMs: 5_000 }
/** A stream that lived this long starts the back-off anew, ms. */
const SETTLED_MS = 5_000
const REASON = 'console unavailable: '

type Open = Extract<ConsoleFrame, { type: 'open' }>

/** One viewer of one VM's console: keeps a stream to the agent, and begins another where it stopped, until closed. */
export class ConsoleViewer implements KeyboardViewer {
  readonly readOnly: boolean
  readonly #parts: ViewerParts
  readonly #vm: ConsoleVm
  readonly #id: number
  readonly #sink: ConsoleSink
  readonly #tailBytes: number
  /** First byte not yet given to the window; absent until the first stream opened. */
  #next: bigint | undefined
  #acked = 0n
  #closed = false
  #stream: AbortController | undefined
  #outbox: ConsoleOutbox | undefined
  #live = false
  #link: ConsoleLink = 'reconnecting'
  #detail = ''
  #wake: () => void = () => {}
  #credit: () => void = () => {}

  constructor(parts: ViewerParts, vm: ConsoleVm, open: Open, sink: ConsoleSink) {
    this.#parts = parts
    this.#vm = vm
    this.#id = open.id
    this.#sink = sink
    this.#next = open.from
    this.#acked = open.from ?? 0n
    this.#tailBytes = open.tailBytes ?? 0
    this.readOnly = open.readOnly ?? false
  }

  /** Runs until `close` or until the VM is gone; never rejects. Call once. */
  async run(): Promise<void> {
    const { sessions, keyboards, clock } = this.#parts
    let attempt = 0
    const unsubscribe = sessions.onSession(this.#vm.hostId, (session) => {
      if (!session) return
      attempt = 0
      this.#wake()
    })
    keyboards.join(this.#vm.id, this)
    while (!this.#closed) {
      if (!this.#parts.vms.findForConsole(this.#parts.tenant, this.#vm.id)) {
        this.close('the VM is gone')
        break
      }
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      const session = sessions.active(this.#vm.hostId)
      const began = clock.monotonic()
      const fault = session ? await this.#follow(session) : new Fault('host/no-answer', 'transient', this.#names())
      if (clock.monotonic() - began >= SETTLED_MS) attempt = 0
      if (this.#closed) break
      this.#state('reconnecting', this.#words(this.#why(fault)))
      await this.#pause(fullJitterMs(attempt++, RETRY), woken)
    }
    unsubscribe()
  }

  /** Everything below `offset` is on the screen. */
  ack(offset: bigint): void {
    if (this.#next === undefined || offset > this.#next) return
    this.#outbox?.ack(offset)
    if (offset <= this.#acked) return
    this.#acked = offset
    this.#credit()
  }

  /** False = the guest reads slowly: send no more until `inputDrained`. Input that is not taken is said in a state frame. */
  input(bytes: Uint8Array): boolean {
    const outbox = this.#live ? this.#outbox : undefined
    if (!this.#parts.keyboards.holds(this.#vm.id, this)) this.#refuse('another viewer holds the keyboard')
    else if (!outbox) this.#refuse('not connected: what was typed was not sent')
    else if (!outbox.input(bytes)) this.#refuse('the guest does not read: what was typed was not sent')
    return !outbox?.full
  }

  takeKeyboard(): void {
    this.#parts.keyboards.take(this.#vm.id, this)
  }

  keyboard(holder: boolean): void {
    // Before the stream opens there is nothing to type into; it is said then.
    if (this.#live) void this.#sink.send({ type: 'keyboard', id: this.#id, holder })
  }

  /** With a reason the window is told. Idempotent. */
  close(reason?: string): void {
    if (this.#closed) return
    this.#closed = true
    if (reason !== undefined) void this.#sink.send({ type: 'close', id: this.#id, reason: this.#words(reason) })
    this.#parts.keyboards.leave(this.#vm.id, this)
    this.#stream?.abort()
    this.#wake()
    this.#credit()
    this.#sink.ended()
  }

  async #follow(session: ActiveSession): Promise<Fault> {
    const stream = new AbortController()
    this.#stream = stream
    const outbox = new ConsoleOutbox(this.#openRequest(session), () => this.#sink.inputDrained())
    this.#outbox = outbox
    const noAnswer = new Fault('host/no-answer', 'transient', this.#names())
    this.#parts.clock.sleep(TIMES.consoleOpenMs, stream.signal).then(
      () => this.#live || stream.abort(noAnswer),
      () => {},
    )
    try {
      for await (const response of session.connection.client.console(outbox, { signal: stream.signal })) {
        await this.#take(response)
        if (this.#closed) break
      }
      return new Fault('ssh/lost', 'transient', this.#names())
    } catch (error) {
      if (stream.signal.reason === noAnswer) return noAnswer
      return fromConnectError(error, 'ssh/lost')
    } finally {
      this.#live = false
      outbox.end()
      stream.abort()
      this.#outbox = undefined
      this.#sink.inputDrained()
    }
  }

  #openRequest(session: ActiveSession) {
    return {
      message: {
        case: 'open' as const,
        value: {
          sessionId: session.sessionId,
          vmId: this.#vm.id,
          tailBytes: BigInt(this.#tailBytes),
          ...(this.#next === undefined ? {} : { fromOffset: this.#next }),
        },
      },
    }
  }

  async #take({ message }: ConsoleResponse): Promise<void> {
    switch (message.case) {
      case 'opened':
        return this.#opened(message.value)
      case 'data':
        return this.#data(message.value.offset, message.value.data)
      case 'skipped':
        return this.#skip(message.value.toOffset)
      case 'power':
        return this.#state(message.value.running ? 'live' : 'stopped')
      case 'refused':
        return this.#refuse(message.value.detail)
    }
  }

  #opened({ startOffset, endOffset, headOffset, running }: ConsoleOpened): void {
    // A log shorter than what was seen begins anew; one whose head passed us says so in a skip of its own.
    if (this.#next === undefined || startOffset < this.#next) {
      this.#next = startOffset
      this.#acked = startOffset
    }
    this.#live = true
    const [start, end, head, id, title] = [this.#next, endOffset, headOffset, this.#id, this.#vm.name]
    void this.#sink.send({ type: 'opened', id, start, end, head, title })
    this.keyboard(this.#parts.keyboards.holds(this.#vm.id, this))
    this.#state(running ? 'live' : 'stopped')
  }

  async #data(offset: bigint, data: Uint8Array): Promise<void> {
    const next = this.#next
    if (next === undefined || offset < next || data.length > LIMITS.consoleChunkBytes)
      throw new Fault('agent/misbehaved', 'transient', { ...this.#names(), detail: 'console bytes out of order' })
    if (offset > next) this.#skip(offset)
    this.#next = offset + BigInt(data.length)
    await this.#sink.send({ type: 'data', id: this.#id, offset, bytes: data })
    if (this.#unshown() < LIMITS.consoleWindowBytes) return
    while (this.#unshown() >= LIMITS.consoleWindowLowBytes && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#credit = resolve
      })
  }

  #skip(to: bigint): void {
    const from = this.#next ?? to
    if (to <= from) return
    this.#next = to
    // Bytes that are gone are nobody's to show: they use no window.
    this.#acked += to - from
    void this.#sink.send({ type: 'skipped', id: this.#id, from, to })
  }

  #unshown(): number {
    return Number((this.#next ?? this.#acked) - this.#acked)
  }

  #state(link: ConsoleLink, detail = ''): void {
    if (link === this.#link && detail === this.#detail && link === 'reconnecting') return
    this.#link = link
    this.#detail = detail
    void this.#sink.send({ type: 'state', id: this.#id, link, detail })
  }

  #refuse(detail: string): void {
    void this.#sink.send({ type: 'state', id: this.#id, link: this.#link, detail: cutUtf8(detail) })
  }

  async #pause(ms: number, woken: Promise<void>): Promise<void> {
    const done = new AbortController()
    await Promise.race([woken, this.#parts.clock.sleep(ms, done.signal).catch(() => {})])
    done.abort()
  }

  #why(fault: Fault): string {
    if (fault.code === 'vm/not-found') return 'the host has not made it yet'
    const { what } = faultText(fault.code, { ...fault.params, ...this.#names() })
    return what.startsWith(REASON) ? what.slice(REASON.length) : what
  }

  #names() {
    return { host: this.#vm.hostName, vm: this.#vm.name }
  }

  #words(detail: string): string {
    return cutUtf8(`${REASON}${this.#vm.name} on ${this.#vm.hostName}: ${detail}`)
  }
}
