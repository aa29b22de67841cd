import { dirname } from 'node:path'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { HostAccess } from '../install/host-access.ts'
import { readInstall, writeInstall } from '../install/install-record.ts'
import { service } from '../install/service.ts'
import { endAgent, stopAgent, waitForAgent } from '../install/start.ts'
import { detach } from '../os/exec.ts'
import { linkDurable, listDir, readTail, removeTree, sizeIfPresent } from '../os/files.ts'
import { holderOf, takeLock } from '../os/lock.ts'
import type { Processes, ProcessIdentity } from '../os/process.ts'
import type { AgentLayout } from '../records/layout.ts'
import { askStatus } from '../status/agent-status.ts'
import { HealthJudge } from './health.ts'
import { unstage } from './staging.ts'
import {
  isThere,
  readUpgrade,
  saveUpgrade,
  type UpgradeNote,
  type UpgradeProgram,
  type UpgradeWay,
} from './upgrade-note.ts'

const LOOK_EVERY_MS = 250
/** Of one question after the new agent: one that hangs must not hold up the judge. */
const ASK_MS = 2_000
/** What fails while it is in doubt is ended without ceremony. */
const END_GRACE_MS = 3_000

export interface WatchDeps {
  layout: AgentLayout
  socketPath: string
  host: HostAccess
  processes: Processes
  clock: Clock
  log: Log
}

/**
 * Makes the link lead to the new agent, has it started, and makes it lead back when that does not come up: run by the old
 * program, in a process of its own. `resumed` = an agent found itself without one: it runs already. Returns how it ended.
 * Does nothing when another watches, or nothing is under way. Never raises.
 */
export async function watchUpgrade(
  deps: WatchDeps,
  { resumed }: { resumed: boolean },
): Promise<UpgradeNote['state'] | undefined> {
  const { layout, processes, log } = deps
  const release = await takeLock(layout.upgradeLock, processes).catch(() => undefined)
  if (!release) return undefined
  try {
    const note = await readUpgrade(layout.upgrade)
    if (note?.state !== 'restarting' || !note.way) return undefined
    const ended = await new Watch(deps, note, note.way).run(resumed)
    log.info('upgrade.ended', { state: ended, version: note.offer.version })
    return ended
  } catch (error) {
    log.error('upgrade.watch-failed', { error: asFault(error).message })
    return undefined
  } finally {
    await release()
  }
}

class Watch {
  readonly #deps: WatchDeps
  readonly #note: UpgradeNote
  readonly #way: UpgradeWay
  #child: ProcessIdentity | undefined
  #saidBefore = 0

  constructor(deps: WatchDeps, note: UpgradeNote, way: UpgradeWay) {
    this.#deps = deps
    this.#note = note
    this.#way = way
  }

  async run(resumed: boolean): Promise<UpgradeNote['state']> {
    const { to } = this.#way
    const why = await this.#goOn(resumed).catch((error: unknown) => `it could not be started: ${wordsOf(error)}`)
    if (why !== undefined) return this.#goBack(why)
    await this.#settle('done', '')
    await this.#noteInstalled(to)
    await this.#clear(this.#note.offer.staged_path)
    return 'done'
  }

  /** Undefined = the new agent is well. */
  async #goOn(resumed: boolean): Promise<string | undefined> {
    const { link, to } = this.#way
    const { clock, socketPath } = this.#deps
    if (!resumed) {
      await linkDurable('upgrade.link', to.target, link)
      await this.#restart()
    }
    const judge = new HealthJudge(to)
    const began = clock.monotonic()
    for (;;) {
      const answer = await askStatus(socketPath, ASK_MS)
      const health = judge.look({ atMs: clock.monotonic() - began, answer, died: await this.#died() })
      if (health === 'healthy') return undefined
      if (health !== 'wait') return health.failed
      await clock.sleep(LOOK_EVERY_MS)
    }
  }

  async #goBack(why: string): Promise<UpgradeNote['state']> {
    const { from, to } = this.#way
    const { log } = this.#deps
    log.warn('upgrade.goes-back', { version: to.version, why })
    // A link that leads nowhere would leave this host without any agent.
    const problem = (await isThere(from))
      ? await this.#startOlder()
      : `the older one is no longer there: ${from.target}`
    await this.#settle('rolled_back', problem === undefined ? why : `${why}; and ${problem}`)
    if (problem === undefined && dirname(to.target) !== dirname(from.target))
      await removeTree('upgrade.drop', dirname(to.target)).catch(() => {})
    return 'rolled_back'
  }

  /** Undefined = it runs. */
  async #startOlder(): Promise<string | undefined> {
    const { link, from } = this.#way
    await linkDurable('upgrade.link-back', from.target, link)
    try {
      await this.#endNew()
      await this.#restart()
      const { socketPath } = this.#deps
      await waitForAgent(socketPath, (s) => s.agentVersion === from.version && s.agentDigest === from.digest)
      return undefined
    } catch (error) {
      return `the older one does not come up either: ${wordsOf(error)}`
    }
  }

  /** Through the link, by whatever starts the agent on this host. */
  async #restart(): Promise<void> {
    const { started_by, link, args } = this.#way
    const { host, layout, socketPath, processes } = this.#deps
    const { restart } = service(started_by, host)
    await stopAgent(socketPath)
    if (restart) return restart()
    this.#saidBefore = (await sizeIfPresent(layout.log)) ?? 0
    const pid = await detach('upgrade.spawn', link, args, { cwd: '/', logFile: layout.log, keepLog: true })
    this.#child = processes.identify(pid)
  }

  /** Also one that answers nobody. */
  async #endNew(): Promise<void> {
    const { host, layout, processes } = this.#deps
    const holder = await holderOf(layout.lock)
    for (const process of [holder, this.#child])
      if (process && processes.alive(process)) await endAgent(process, END_GRACE_MS)
    await service(this.#way.started_by, host)
      .kill?.()
      .catch(() => {})
  }

  async #died(): Promise<string | undefined> {
    const { layout, processes } = this.#deps
    if (!this.#child || processes.alive(this.#child)) return undefined
    const size = (await sizeIfPresent(layout.log)) ?? 0
    const fresh = size < this.#saidBefore ? size : size - this.#saidBefore
    const tail = await readTail(layout.log, Math.min(fresh, 2_000))
    return tail.toString('utf8').trim().split('\n').at(-1) ?? ''
  }

  async #settle(state: 'done' | 'rolled_back', detail: string): Promise<void> {
    const at = new Date(this.#deps.clock.now()).toISOString()
    await saveUpgrade(this.#deps.layout.upgrade, { ...this.#note, state, detail, at })
  }

  async #noteInstalled({ version }: UpgradeProgram): Promise<void> {
    const { stateDir } = this.#deps.layout
    const installed = await readInstall(stateDir)
    if (installed) await writeInstall('upgrade.install-note', stateDir, { ...installed, version })
  }

  /** What was sent, and versions older than the one that was left. */
  async #clear(staged: string): Promise<void> {
    const { from, to } = this.#way
    await unstage(this.#deps.layout.staged, staged)
    const lib = dirname(dirname(to.target))
    const kept = [dirname(from.target), dirname(to.target)]
    for (const name of await listDir(lib).catch(() => []))
      if (!kept.includes(`${lib}/${name}`)) await removeTree('upgrade.forget', `${lib}/${name}`).catch(() => {})
  }
}

const wordsOf = (error: unknown): string => {
  if (error instanceof Fault) return error.params['message'] ?? error.message
  return error instanceof Error ? error.message : String(error)
}
