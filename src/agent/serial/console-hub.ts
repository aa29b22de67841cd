import { type FSWatcher, watch } from 'node:fs'
import type { Duplex } from 'node:stream'
import { type Log, silentLog } from '../../ipc/base/log.ts'
import { Fault } from '../../ipc/faults.ts'
import { ConsoleLog, type LogDisk } from './console-log.ts'
import { type ConsoleStart, ConsoleViewer, type ViewedConsole } from './console-viewer.ts'
import { logDisk } from './log-disk.ts'
import { SerialPort } from './serial-port.ts'

/** A powered-on VM as its backend hands it over. */
export interface SerialVm {
  id: string
  logPath: string
  connect(): Promise<Duplex>
}

export interface ConsoleHubOptions {
  /** Where the serial log of a VM of this host lies; undefined when there is no such VM. */
  logPathOf(vmId: string): string | undefined
  disk?: LogDisk
  log?: Log
  keepBytes?: number
  slackBytes?: number
}

/** Looks again at viewed logs this often, in case a file event was lost; at the others every IDLE_EVERY-th time. */
const RECHECK_MS = 1_000
const IDLE_EVERY = 5
const MAX_VIEWERS_PER_VM = 64

/** Every VM's serial console of this host. A console is kept while the VM is on or somebody views it. */
export class ConsoleHub {
  readonly #options: ConsoleHubOptions
  readonly #consoles = new Map<string, VmConsole>()
  readonly #timer: NodeJS.Timeout
  #ticks = 0

  constructor(options: ConsoleHubOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#recheck(), RECHECK_MS).unref()
  }

  /** The VM's VMM runs: record it and take input. Idempotent. */
  ensure(vm: SerialVm): void {
    const old = this.#consoles.get(vm.id)
    const console = old && !old.gone && old.logPath === vm.logPath ? old : this.#load(vm.id, vm.logPath)
    console.powerOn(vm.connect)
  }

  /** The VM's VMM ended. Viewers stay, are told, and may read what was recorded. Idempotent. */
  stop(vmId: string): void {
    this.#consoles.get(vmId)?.powerOff()
  }

  /** The VM is destroyed: ends its viewers. Idempotent. */
  forget(vmId: string): void {
    void this.#consoles.get(vmId)?.close(new Fault('vm/not-found', 'permanent', { vm: vmId }))
    this.#consoles.delete(vmId)
  }

  /** One past the last recorded byte; 0 when nothing is, or the log cannot be looked at. Never raises. */
  end(vmId: string): bigint {
    const console = this.#find(vmId)
    if (console && console.problem !== '') void console.refresh()
    return BigInt(console?.end ?? 0)
  }

  /** A reader of one VM's console, on or off, that knows its end as of now. Raises vm/not-found and console/unavailable. */
  async view(vmId: string, start: ConsoleStart): Promise<ConsoleViewer> {
    const console = this.#find(vmId)
    if (!console) throw new Fault('vm/not-found', 'permanent', { vm: vmId })
    await console.refresh()
    if (console.viewers >= MAX_VIEWERS_PER_VM)
      throw new Fault('console/unavailable', 'transient', { detail: `${MAX_VIEWERS_PER_VM} viewers already` })
    return new ConsoleViewer(console, start)
  }

  /** Types into the VM. Resolves undefined when done, else one sentence why not. */
  async input(vmId: string, bytes: Uint8Array): Promise<string | undefined> {
    const console = this.#find(vmId)
    return console ? await console.input(bytes) : 'there is no such VM any more; nothing was typed'
  }

  /** Sentences for the report: what keeps consoles from working as promised. */
  notices(): string[] {
    const notices: string[] = []
    const all = [...this.#consoles.values()]
    const failed = all.filter((c) => c.trimFailed).length
    if (failed > 0)
      notices.push(
        `The serial logs of ${failed} VMs cannot be shortened here (no hole can be punched); they grow without bound.`,
      )
    const unreadable = all.filter((c) => c.problem !== '')
    const [first] = unreadable
    if (first)
      notices.push(`The serial logs of ${unreadable.length} VMs cannot be read (${first.logPath}: ${first.problem}).`)
    return notices
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    const all = [...this.#consoles.values()]
    this.#consoles.clear()
    const reason = new Fault('console/unavailable', 'transient', { detail: 'the agent is stopping' })
    await Promise.all(all.map((console) => console.close(reason)))
  }

  #find(vmId: string): VmConsole | undefined {
    const known = this.#consoles.get(vmId)
    if (known && !known.gone) return known
    const path = this.#options.logPathOf(vmId)
    return path === undefined ? undefined : this.#load(vmId, path)
  }

  #load(vmId: string, path: string): VmConsole {
    void this.#consoles.get(vmId)?.close(new Fault('console/unavailable', 'transient', { detail: 'opened anew' }))
    const { disk = logDisk(), log = silentLog, keepBytes, slackBytes } = this.#options
    const console = new VmConsole(vmId, new ConsoleLog(path, disk, keepBytes, slackBytes), log)
    this.#consoles.set(vmId, console)
    return console
  }

  #recheck(): void {
    const all = ++this.#ticks % IDLE_EVERY === 0
    for (const console of this.#consoles.values())
      if (console.viewers > 0 || (all && console.running)) void console.refresh()
  }
}

class VmConsole implements ViewedConsole {
  readonly #id: string
  readonly #file: ConsoleLog
  readonly #log: Log
  readonly #listeners = new Set<() => void>()
  #watcher: FSWatcher | undefined
  #port: SerialPort | undefined
  #running = false
  #closed: Fault | undefined
  #refreshing: Promise<void> | undefined
  #looksWanted = 0
  /** What was last logged of a log that cannot be read. */
  #said = ''
  trimFailed = false

  constructor(id: string, file: ConsoleLog, log: Log) {
    this.#id = id
    this.#file = file
    this.#log = log
  }

  get logPath(): string {
    return this.#file.path
  }
  get head(): number {
    return this.#file.head
  }
  get end(): number {
    return this.#file.end
  }
  get running(): boolean {
    return this.#running
  }
  get gone(): Fault | undefined {
    return this.#closed ?? this.#file.gone
  }
  get problem(): string {
    return this.#file.problem
  }
  get viewers(): number {
    return this.#listeners.size
  }

  read(offset: number, max: number): Promise<Uint8Array | undefined> {
    return this.#file.read(offset, max)
  }

  onChange(ring: () => void): () => void {
    this.#listeners.add(ring)
    void this.refresh()
    return () => {
      this.#listeners.delete(ring)
      if (this.#listeners.size > 0) return
      this.#unwatch()
      void this.#file.close()
    }
  }

  powerOn(connect: () => Promise<Duplex>): void {
    this.#port ??= new SerialPort({ connect, log: this.#log })
    this.#running = true
    this.#ring()
    void this.refresh()
  }

  powerOff(): void {
    const port = this.#port
    this.#port = undefined
    port?.close()
    void this.refresh().then(() => {
      if (this.#port) return
      this.#running = false
      this.#ring()
    })
  }

  async input(bytes: Uint8Array): Promise<string | undefined> {
    return this.#port ? await this.#port.write(bytes) : 'the VM is off; nothing was typed'
  }

  /** Looks at the file, now or once more after the look under way; several calls count as one. Never rejects. */
  refresh(): Promise<void> {
    this.#looksWanted++
    this.#refreshing ??= this.#look()
    return this.#refreshing
  }

  async close(reason: Fault): Promise<void> {
    this.#closed ??= reason
    this.#port?.close()
    this.#port = undefined
    this.#unwatch()
    this.#ring()
    await this.#file.close()
  }

  async #look(): Promise<void> {
    while (this.#looksWanted > 0) {
      this.#looksWanted = 0
      try {
        if (this.viewers > 0) this.#watch()
        if (await this.#file.refresh()) this.#ring()
        this.#said = ''
      } catch (error) {
        if (this.#said !== String(error))
          this.#log.warn('serial.log-unreadable', { vm: this.#id, error: String(error) })
        this.#said = String(error)
      }
      await this.#trim()
    }
    this.#refreshing = undefined
  }

  async #trim(): Promise<void> {
    try {
      await this.#file.trim()
    } catch (error) {
      if (!this.trimFailed) this.#log.warn('serial.trim-failed', { vm: this.#id, error: String(error) })
      this.trimFailed = true
    }
  }

  #ring(): void {
    for (const ring of this.#listeners) ring()
  }

  #watch(): void {
    if (this.#watcher || this.gone) return
    try {
      this.#watcher = watch(this.#file.path, { persistent: false }, () => void this.refresh())
      this.#watcher.on('error', () => this.#unwatch())
    } catch {
      this.#watcher = undefined
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }
}
