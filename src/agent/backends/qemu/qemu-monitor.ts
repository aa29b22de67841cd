import type { Socket } from 'node:net'
import { z } from 'zod'
import type { Clock } from '../../../ipc/base/clock.ts'
import { printable } from '../../../ipc/fault-text.ts'
import { around } from '../../os/failpoints.ts'
import type { Complaint } from '../backend.ts'
import { DISK } from './argv.ts'
import { type Ending, endingOf } from './qemu-ending.ts'
import { QmpClient, type QmpDeadlines, type QmpEvent } from './qmp-client.ts'

/** A guest that resets itself this often within the window is in trouble: most likely a kernel that panics at boot. */
const RESET_LIMIT = 5
const RESET_WINDOW_MS = 120_000
/** A QEMU whose process lives and that says nothing for this long is hung. */
export const HUNG_MS = 20_000

/** Run states of a guest that can go on, and whose clock does not meanwhile. */
const STANDS_STILL: ReadonlySet<string> = new Set(['paused', 'io-error', 'suspended', 'postmigrate', 'save-vm'])

export interface MonitorOptions {
  vmId: string
  pid: number
  clock: Clock
  connect(): Promise<Socket>
  /** The monitor went away without close(): the process ended or soon will, or what it said broke the protocol. */
  onClosed(broken: string): void
  /** The guest stood still and goes on, whoever let it; also told when that happened while nobody listened. */
  onResume?(): void
  deadlines?: QmpDeadlines
}

/** What QEMU tells of a guest's drives, as far as it is read here. */
const Blocks = z.array(
  z.object({ device: z.string(), inserted: z.object({ image: z.object({ 'virtual-size': z.number() }) }).optional() }),
)

const ignore = () => {}

/** One QEMU's monitor kept open, and what its events told. */
export class QemuMonitor {
  readonly vmId: string
  readonly pid: number
  readonly #options: MonitorOptions
  #client: Promise<QmpClient> | undefined
  #looking: Promise<void> | undefined
  #resets: number[] = []
  /** QEMU's run state; '' = not known. */
  #state = ''
  #ioError = ''
  /** Events so far. */
  #told = 0
  /** Since when something was asked and nothing heard, monotonic ms. */
  #silentSince: number | undefined
  #closed = false
  /** What really runs the guest; '' = not known. */
  acceleration: 'kvm' | 'tcg' | '' = ''
  /** How the process said it ends; undefined = it does not, or nobody heard it. */
  ending: Ending | undefined

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

  /**
   * Asks how the guest is, and lets one that a full disk paused go on once there is room. Never rejects, never has two
   * questions on the way: a QEMU that is hung collects none.
   */
  async look(hasRoom: () => Promise<boolean>): Promise<void> {
    this.#looking ??= this.#look(hasRoom)
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined
      })
    await this.#looking
  }

  /** Presses the guest's power button; a paused guest is let run, else it would never notice. False = it is dead. */
  async powerButton(): Promise<boolean> {
    const client = await this.attach()
    await this.#readState(client)
    if (this.#state === 'guest-panicked' || this.#state === 'internal-error') return false
    if (this.#state === 'paused' || this.#state === 'io-error') await client.execute('cont')
    await around('qmp.power-button', () => client.execute('system_powerdown'))
    return true
  }

  /** Resolves once QEMU took it: with its answer, or with the end of its monitor in place of one. */
  async quit(): Promise<void> {
    const client = await this.attach()
    await around('qmp.quit', () => Promise.race([client.execute('quit').then(ignore), client.closed]))
  }

  /** A command of the human monitor, with what it printed. Raises `vmm/failed`. */
  async human(command: string): Promise<string> {
    const client = await this.attach()
    const said = await around('qmp.human', () => client.execute('human-monitor-command', { 'command-line': command }))
    return typeof said === 'string' ? said : ''
  }

  /** Makes the running guest's disk at least so large, which it notices by itself. Raises `vmm/failed`. */
  async growDisk(bytes: number): Promise<void> {
    const client = await this.attach()
    const blocks = Blocks.parse(await client.execute('query-block'))
    const has = blocks.find(({ device }) => device === DISK)?.inserted?.image['virtual-size'] ?? 0
    if (has >= bytes) return
    await around('qmp.resize', () => client.execute('block_resize', { device: DISK, size: bytes }))
  }

  /** Undefined = nothing to say; `now` in monotonic ms. */
  complaint(now: number): Complaint | undefined {
    if (this.#silentSince !== undefined && now - this.#silentSince >= HUNG_MS)
      return { code: 'vm/hung', detail: '', paused: false }
    if (this.#state === 'guest-panicked') return { code: 'vm/panicked', detail: '', paused: true }
    if (this.#state === 'internal-error')
      return { code: 'vmm/failed', detail: 'an internal error of the hypervisor stopped the guest', paused: true }
    if (this.#state === 'io-error') return { code: 'vm/io-error', detail: this.#ioError, paused: true }
    const resets = this.#resets.filter((at) => at > now - RESET_WINDOW_MS).length
    return resets < RESET_LIMIT
      ? undefined
      : { code: 'vm/resetting', detail: `${resets} times within 2 minutes`, paused: false }
  }

  /** Resolves when all the process said is read, which its end makes certain. */
  async drained(): Promise<void> {
    await this.#client?.then(
      (client) => client.closed,
      () => {},
    )
  }

  close(): void {
    this.#closed = true
    this.#client?.then((client) => client.close()).catch(() => {})
  }

  async #connect(): Promise<QmpClient> {
    const { connect, onClosed, deadlines } = this.#options
    this.#asked()
    try {
      const listener = { event: (event: QmpEvent) => this.#take(event), heard: () => this.#heard() }
      const client = await QmpClient.open(await around('qmp.attach', connect), listener, deadlines)
      void client.closed.then((broken) => {
        this.#client = undefined
        if (!this.#closed) onClosed(broken)
      })
      if (this.#closed) client.close()
      else await this.#readState(client).then(() => this.#readAcceleration(client), ignore)
      return client
    } catch (error) {
      this.#client = undefined
      throw error
    }
  }

  async #look(hasRoom: () => Promise<boolean>): Promise<void> {
    this.#asked()
    const client = await this.attach()
    if (client.owed) return
    await this.#readState(client)
    if (this.#state !== 'io-error' || !(await hasRoom())) return
    await client.execute('cont')
    await this.#readState(client)
  }

  async #readState(client: QmpClient): Promise<void> {
    this.#asked()
    const told = this.#told
    const { status } = (await client.execute('query-status')) as { status?: unknown }
    // What QEMU told meanwhile was heard before this answer is looked at, and may be newer than it.
    if (typeof status === 'string' && told === this.#told) this.#turns(status)
  }

  async #readAcceleration(client: QmpClient): Promise<void> {
    const { enabled } = (await client.execute('query-kvm').catch(() => ({}))) as { enabled?: unknown }
    if (typeof enabled === 'boolean') this.acceleration = enabled ? 'kvm' : 'tcg'
  }

  #asked(): void {
    this.#silentSince ??= this.#options.clock.monotonic()
  }

  #heard(): void {
    this.#silentSince = undefined
  }

  #take(event: QmpEvent): void {
    // The first end told is the cause; a quit that follows a power-off is not.
    this.ending ??= endingOf(event)
    const { data } = event
    this.#told++
    switch (event.event) {
      case 'GUEST_PANICKED':
        this.#state = 'guest-panicked'
        break
      case 'BLOCK_IO_ERROR':
        if (data['action'] !== 'stop') break
        this.#state = 'io-error'
        this.#ioError = data['nospace'] === true ? 'no space left' : printable(String(data['reason'] ?? ''))
        break
      case 'STOP':
        if (this.#state === 'running' || this.#state === '') this.#state = 'paused'
        break
      case 'RESUME':
        this.#turns('running')
        break
      case 'RESET':
        this.#reset(data['guest'] === true)
        break
    }
  }

  #turns(state: string): void {
    const stoodStill = STANDS_STILL.has(this.#state)
    this.#state = state
    if (stoodStill && state === 'running') this.#options.onResume?.()
  }

  /** A reset by the host, as at the start, says nothing of the guest. */
  #reset(byGuest: boolean): void {
    this.ending = undefined
    if (this.#state === 'guest-panicked') this.#state = 'running'
    if (byGuest) this.#resets = [...this.#resets.slice(-RESET_LIMIT * 4), this.#options.clock.monotonic()]
  }
}
