import { readlink } from 'node:fs/promises'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault } from '../../ipc/faults.ts'
import type { AgentUpgrade } from '../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { UpgradeOutcome } from '../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { commandOf } from '../install/self.ts'
import { detach, type Run } from '../os/exec.ts'
import { linkDurable } from '../os/files.ts'
import { holderOf } from '../os/lock.ts'
import type { Processes } from '../os/process.ts'
import type { StateFiles } from '../records/disk-reserve.ts'
import type { AgentLayout } from '../records/layout.ts'
import { unstage } from './staging.ts'
import { installedWay, prepareOffer, Refused, type RunningAgentProgram } from './take-offer.ts'
import { isThere, outcomeOf, readUpgrade, saveUpgrade, type UpgradeNote } from './upgrade-note.ts'

/** The note is somebody else's to write while an upgrade is in doubt: how often it is looked at, ms. */
const LOOK_EVERY_MS = 500
/** Who watches over an upgrade may take so long to begin; after that nobody does. */
const UNWATCHED_MS = 15_000

export interface UpgraderOptions {
  layout: AgentLayout
  socketPath: string
  self: RunningAgentProgram
  files: Pick<StateFiles, 'writeDurable'>
  run: Run
  processes: Processes
  clock: Clock
  log: Log
}

/** Takes what a control plane offers in this agent's place: looks at it, and leaves the rest to one that watches over both. */
export class Upgrader {
  readonly #options: UpgraderOptions
  readonly #listeners = new Set<() => void>()
  readonly #stopping = new AbortController()
  #note: UpgradeNote | undefined
  #taking: { offer: AgentUpgrade; withdraw: AbortController; done: Promise<void> } | undefined

  private constructor(options: UpgraderOptions, note: UpgradeNote | undefined) {
    this.#options = options
    this.#note = note
  }

  /** Takes up what an earlier agent left in doubt. */
  static async open(options: UpgraderOptions): Promise<Upgrader> {
    const note = await readUpgrade(options.layout.upgrade)
    const upgrader = new Upgrader(options, note)
    if (note?.state === 'verifying') await upgrader.#say(note.offer, 'refused', 'the agent ended while it looked at it')
    if (note?.state === 'restarting') void upgrader.#follow()
    return upgrader
  }

  /** Undefined = none was ever offered. */
  outcome(): UpgradeOutcome | undefined {
    return this.#note && outcomeOf(this.#note)
  }

  /** Calls `fn` when the outcome changed; returns its stop function. */
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** What the newest accepted snapshot offers; undefined = nothing, which withdraws one still being looked at. Each offer is taken once. */
  offered(offer: AgentUpgrade | undefined): void {
    const taking = this.#taking
    if (taking && !(offer && isSame(taking.offer, offer))) taking.withdraw.abort(new Refused('it was withdrawn'))
    if (!offer || taking || this.#stopping.signal.aborted || this.#note?.state === 'restarting') return
    const { version, sha256, stagedPath } = offer
    const last = this.#note?.offer
    if (last && last.sha256 === sha256 && last.staged_path === stagedPath) return
    this.#options.log.info('upgrade.offered', { version, sha256 })
    const withdraw = new AbortController()
    const done = this.#take(offer, AbortSignal.any([withdraw.signal, this.#stopping.signal])).finally(() => {
      this.#taking = undefined
    })
    this.#taking = { offer, withdraw, done }
  }

  /** Ends what is still being looked at; one that is in doubt goes on without this process. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Refused('the agent ended while it looked at it'))
    await this.#taking?.done
  }

  async #take(offer: AgentUpgrade, signal: AbortSignal): Promise<void> {
    const { version, sha256, stagedPath } = offer
    const noted = { version, sha256, staged_path: stagedPath }
    const { layout, socketPath, self, run, log } = this.#options
    try {
      await this.#say(noted, 'verifying', '')
      const way = await installedWay({ layout, self })
      const to = await prepareOffer({ layout, socketPath, self, run }, offer, way, signal)
      signal.throwIfAborted()
      await this.#say(noted, 'restarting', '', { ...way, to })
      await this.#watch(commandOf(self.program))
      void this.#follow()
    } catch (error) {
      const detail = error instanceof Refused ? error.message : asFault(error).message
      log.warn('upgrade.refused', { version, detail })
      await unstage(layout.staged, stagedPath)
      await this.#say(noted, 'refused', detail).catch((failed: unknown) =>
        log.error('upgrade.not-noted', { error: asFault(failed).message }),
      )
    }
  }

  /** Of this program: the old one outlives the new one's faults. */
  async #watch([program, ...args]: string[]): Promise<void> {
    const { layout, socketPath } = this.#options
    const command = [...args, 'upgrade-watch', '--state-dir', layout.stateDir, '--socket', socketPath]
    await detach('upgrade.watch', program!, command, { cwd: '/', logFile: layout.upgradeLog })
  }

  /** Until whoever watches has said how it ended. */
  async #follow(): Promise<void> {
    const { clock, layout, log } = this.#options
    const { signal } = this.#stopping
    let watchedAt = clock.monotonic()
    try {
      while (this.#note?.state === 'restarting') {
        await clock.sleep(LOOK_EVERY_MS, signal)
        if (await isWatched(this.#options)) watchedAt = clock.monotonic()
        else if (clock.monotonic() - watchedAt > UNWATCHED_MS) {
          await resumeUpgrade(this.#options)
          watchedAt = clock.monotonic()
        }
        const note = await readUpgrade(layout.upgrade)
        if (!note || note.state === 'restarting') continue
        this.#note = note
        this.#tell()
      }
    } catch (error) {
      if (!signal.aborted) log.error('upgrade.follow', { error: asFault(error).message })
    }
  }

  async #say(
    offer: UpgradeNote['offer'],
    state: UpgradeNote['state'],
    detail: string,
    way?: UpgradeNote['way'],
  ): Promise<void> {
    const { layout, files, clock } = this.#options
    const note = { offer, state, detail, at: new Date(clock.now()).toISOString(), ...(way ? { way } : {}) }
    this.#note = note
    await saveUpgrade(layout.upgrade, note, files.writeDurable)
    this.#tell()
  }

  #tell(): void {
    for (const fn of this.#listeners) fn()
  }
}

async function isWatched({ layout, processes }: Pick<UpgraderOptions, 'layout' | 'processes'>): Promise<boolean> {
  const watcher = await holderOf(layout.upgradeLock)
  return watcher !== undefined && processes.alive(watcher)
}

const isSame = (a: AgentUpgrade, b: AgentUpgrade): boolean => a.sha256 === b.sha256 && a.stagedPath === b.stagedPath

/**
 * An upgrade that nobody watches over any more, as after a reboot: said or watched again before this agent does anything
 * else, so that one which dies at once is still taken back.
 */
export async function resumeUpgrade(options: Omit<UpgraderOptions, 'files' | 'run'>): Promise<void> {
  const { layout, self, socketPath, clock } = options
  const note = await readUpgrade(layout.upgrade)
  if (note?.state !== 'restarting' || !note.way) return
  if (await isWatched(options)) return
  const { from, to, link } = note.way
  const settle = (state: UpgradeNote['state'], detail: string) =>
    saveUpgrade(layout.upgrade, { ...note, state, detail, at: new Date(clock.now()).toISOString() })
  const isTo = self.version === to.version && self.digest === to.digest
  // In doubt for ever, it would take no offer again.
  if (isTo && !(await isThere(from)))
    return settle('done', 'it was cut short, and the older one that would watch over it is no longer there')
  if (isTo) {
    const args = ['upgrade-watch', '--resumed', '--state-dir', layout.stateDir, '--socket', socketPath]
    await detach('upgrade.watch-again', from.target, args, { cwd: '/', logFile: layout.upgradeLog })
    return
  }
  const isFrom = self.version === from.version && self.digest === from.digest
  // Left as it is, the next start would run one that nobody watches.
  if (isFrom && (await readlink(link).catch(() => '')) === to.target)
    await linkDurable('upgrade.link-settle', from.target, link)
  await settle('rolled_back', 'it was cut short: the host or what watched over it ended in between')
}
