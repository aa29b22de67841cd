import type { Socket } from 'node:net'
import type { Clock } from '../../../ipc/base/clock.ts'
import { QmpClient, type QmpEvent } from './qmp-client.ts'

/** A guest that resets itself this often within the window is in trouble: most likely a kernel that panics at boot. */
const RESET_LIMIT = 5
const RESET_WINDOW_MS = 120_000

const ENDINGS: Readonly<Record<string, string>> = {
  'guest-shutdown': 'the guest powered itself off',
  'guest-panic': 'the kernel of the guest panicked',
  'host-signal': 'its process was told to end',
}

export interface MonitorOptions {
  vmId: string
  pid: number
  clock: Clock
  connect(): Promise<Socket>
  /** The monitor went away without close(): the process ended, or soon will. */
  onClosed(): void
}

/** One QEMU's monitor kept open, and what its events told. */
export class QemuMonitor {
  readonly vmId: string
  readonly pid: number
  readonly #options: MonitorOptions
  #client: Promise<QmpClient> | undefined
  #resets: number[] = []
  #unanswered = false
  #closed = false
  /** How the process said it ended; '' = it has not, or nobody heard it. */
  ending = ''

  constructor(options: MonitorOptions) {
    this.#options = options
    this.vmId = options.vmId
    this.pid = options.pid
  }

  /** Idempotent; one connection is made and kept. Raises `vmm/failed` when QEMU does not answer. */
  async attach(): Promise<QmpClient> {
    this.#client ??= this.#connect()
    return await this.#client
  }

  /** Presses the guest's power button; a paused guest is let run, else it would never notice. */
  async powerButton(): Promise<void> {
    const client = await this.attach()
    const { status } = (await client.execute('query-status')) as { status?: string }
    if (status === 'paused') await client.execute('cont')
    await client.execute('system_powerdown')
  }

  async quit(): Promise<void> {
    await (await this.attach()).execute('quit')
  }

  /** `now` in monotonic ms. Empty = nothing to say. */
  complaint(now: number): string {
    if (this.#unanswered) return 'QEMU does not answer on its monitor'
    const recent = this.#resets.filter((at) => at > now - RESET_WINDOW_MS)
    return recent.length >= RESET_LIMIT ? `the guest reset itself ${recent.length} times within 2 minutes` : ''
  }

  close(): void {
    this.#closed = true
    this.#client?.then((client) => client.close()).catch(() => {})
  }

  async #connect(): Promise<QmpClient> {
    try {
      const client = await QmpClient.open(await this.#options.connect(), (event) => this.#take(event))
      this.#unanswered = false
      if (this.#closed) client.close()
      void client.closed.then(() => {
        this.#client = undefined
        if (!this.#closed) this.#options.onClosed()
      })
      return client
    } catch (error) {
      this.#client = undefined
      this.#unanswered = true
      throw error
    }
  }

  #take({ event, data }: QmpEvent): void {
    if (event === 'SHUTDOWN') this.ending = ENDINGS[String(data['reason'])] ?? ''
    else if (event === 'GUEST_PANICKED') this.ending = ENDINGS['guest-panic']!
    else if (event === 'RESET' && data['guest'] === true)
      this.#resets = [...this.#resets.slice(-RESET_LIMIT * 4), this.#options.clock.monotonic()]
  }
}
