import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { UpgradeOutcome } from '../../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import type { HostRow } from '../store/host-row.ts'
import type { HostLive } from '../sync/registry.ts'
import type { StepContext, TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { ActiveSession } from './agent-connection.ts'
import { hasFeature } from './agent-features.ts'
import type { Artefact, Artefacts } from './artefacts.ts'
import { askAgent } from './ask-agent.ts'
import type { OwnAgent } from './own-agent.ts'
import { isAbout, isAgent, type UpgradeOffers } from './upgrade-offers.ts'
import { sendAgent } from './upgrade-send.ts'

export const UPGRADE_STEPS = ['Look at agent', 'Send agent', 'Check agent', 'Restart agent', 'First report']

const STATUS_TIMEOUT_MS = 15_000
/** The agent copies 130 MB and lets the new one look at the host for at most 30 s. */
const CHECK_MS = 3 * 60_000
/** The new agent has 60 s, going back some more. */
const RESTART_MS = 3 * 60_000
const DIAL_EVERY_MS = 2_000

export interface UpgradeDeps {
  hosts: { get(id: string): HostRow }
  registry: {
    live(hostId: string): HostLive
    active(hostId: string): ActiveSession | undefined
    onChange(listener: (hostId: string) => void): () => void
  }
  links: { tryNow(hostId: string): void }
  offers: UpgradeOffers
  own: OwnAgent
  /** For an agent that takes no offers: puts the newer one there as when the host was added. */
  reinstall(host: HostRow, artefacts: Artefacts, task: TaskContext): Promise<void>
  /** For an agent that this app starts from its own files. */
  restartOwn(hostId: string): Promise<void>
  clock: Clock
}

/**
 * Puts this app's agent on a host and waits until it reports, or until the host went back. Raises
 * agent/upgrade-refused, agent/upgrade-rolled-back, host/no-answer, app/part-missing and what the sending raises.
 */
export async function upgradeHost(deps: UpgradeDeps, hostId: string, task: TaskContext): Promise<TaskOutcome> {
  const host = deps.hosts.get(hostId)
  const upgrade = new HostUpgrade(deps, host, task)
  if (host.kind === 'local' && host.agent.startedBy === 'app') await upgrade.byRestart()
  else if (hasFeature(deps.registry.live(hostId).hello, 'upgrade')) await upgrade.byOffer()
  else await upgrade.byInstall()
  return { resultId: hostId }
}

type Look = (live: HostLive) => boolean

class HostUpgrade {
  readonly #deps: UpgradeDeps
  readonly #host: HostRow
  readonly #task: TaskContext

  constructor(deps: UpgradeDeps, host: HostRow, task: TaskContext) {
    this.#deps = deps
    this.#host = host
    this.#task = task
  }

  async byOffer(): Promise<void> {
    const task = this.#task
    task.plan(UPGRADE_STEPS)
    const artefacts = await this.#deps.own.read()
    const { id } = this.#host
    const before = this.#live.report?.upgrade
    const artefact = await task.step('Look at agent', (step) => this.#choose(artefacts, step))
    const stagedPath = await task.step('Send agent', (step) => this.#send(artefact, step))
    const { sha256 } = artefact
    const { version, buildDigest: digest } = artefacts
    const answer = () => {
      const said = this.#live.report?.upgrade
      return said && isAbout(said, sha256, before) ? said : undefined
    }
    try {
      await task.step('Check agent', async (step) => {
        step.detail(`${version}, SHA-256 ${sha256.slice(0, 12)}…`)
        this.#deps.offers.offer(id, { version, digest, sha256, stagedPath }, before)
        // The session may end before the report of this gets through.
        const gone = (live: HostLive) => live.session === undefined
        await this.#until((live) => decided(answer()) || gone(live) || this.#isNew(live, artefacts), CHECK_MS)
        this.#throwBad(answer(), version)
      })
      await task.step('Restart agent', async (step) => {
        step.detail('its VMs run on')
        await this.#until((live) => this.#isNew(live, artefacts) || isBad(answer()), RESTART_MS)
        this.#throwBad(answer(), version)
      })
      await task.step('First report', async () => {
        await this.#until(() => answer()?.state === 'done' || isBad(answer()), RESTART_MS)
        this.#throwBad(answer(), version)
      })
    } finally {
      this.#deps.offers.clear(id)
    }
  }

  /** An agent of before offers: without a way back by itself. */
  async byInstall(): Promise<void> {
    const task = this.#task
    const artefacts = await this.#deps.own.read()
    await this.#deps.reinstall(this.#host, artefacts, task)
    await task.step('First report', async (step) => {
      step.detail(`agent ${artefacts.version}`)
      await this.#until((live) => this.#isNew(live, artefacts), RESTART_MS)
    })
  }

  async byRestart(): Promise<void> {
    const task = this.#task
    task.plan(['Restart agent', 'First report'])
    const artefacts = await this.#deps.own.read()
    await task.step('Restart agent', () => this.#deps.restartOwn(this.#host.id))
    await task.step('First report', () => this.#until((live) => this.#isNew(live, artefacts), RESTART_MS))
  }

  get #live(): HostLive {
    return this.#deps.registry.live(this.#host.id)
  }

  async #choose(artefacts: Artefacts, step: StepContext): Promise<Artefact> {
    const call = ({ connection }: ActiveSession) =>
      connection.client.getStatus({}, { signal: this.#task.signal, timeoutMs: STATUS_TIMEOUT_MS })
    const { agentVersion, program, facts } = await askAgent(this.#deps.registry, this.#host, call)
    step.detail(`${agentVersion}, ${program}, ${facts?.arch ?? ''}`)
    const kind = program === 'bundle' ? 'bundle' : 'executable'
    if (program === 'source')
      throw this.#refused('it runs from its sources: they are upgraded there', artefacts.version)
    return artefacts.get(kind, facts?.arch ?? 'x86_64')
  }

  async #send(artefact: Artefact, step: StepContext): Promise<string> {
    const { registry, clock } = this.#deps
    const { id, name: host } = this.#host
    const session = registry.active(id)
    if (!session) throw new Fault('host/no-answer', 'transient', { host })
    return sendAgent(session, artefact, { host, clock, signal: this.#task.signal, onProgress: step.progress })
  }

  #isNew(live: HostLive, { version, buildDigest: digest }: Artefacts): boolean {
    return live.session !== undefined && isAgent(live.session.hello, { version, digest })
  }

  /** Dials again and again meanwhile: back-off would spend the time that the new agent has. */
  async #until(look: Look, withinMs: number): Promise<void> {
    const { registry, links, clock } = this.#deps
    const { id, name: host } = this.#host
    const over = new AbortController()
    const signal = AbortSignal.any([this.#task.signal, over.signal])
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const check = () => {
      if (look(registry.live(id))) resolve()
    }
    const stop = registry.onChange((changed) => {
      if (changed === id) check()
    })
    const dialling = async () => {
      for (let waited = 0; waited < withinMs; waited += DIAL_EVERY_MS) {
        await clock.sleep(DIAL_EVERY_MS, signal)
        if (!registry.active(id)) links.tryNow(id)
      }
      throw new Fault('host/no-answer', 'transient', { host, detail: 'the agent did not answer in time' })
    }
    dialling().catch((error: unknown) => reject(this.#task.signal.aborted ? this.#task.signal.reason : error))
    try {
      check()
      await promise
    } finally {
      stop()
      over.abort()
    }
  }

  #throwBad(answer: UpgradeOutcome | undefined, version: string): void {
    if (answer?.state === 'refused') throw this.#refused(answer.detail, version)
    if (answer?.state !== 'rolled_back') return
    const params = { host: this.#host.name, version, detail: answer.detail.slice(0, 300) }
    throw new Fault('agent/upgrade-rolled-back', 'permanent', params)
  }

  #refused(detail: string, version: string): Fault {
    return new Fault('agent/upgrade-refused', 'permanent', {
      host: this.#host.name,
      version,
      detail: detail.slice(0, 300),
    })
  }
}

const isBad = (answer: UpgradeOutcome | undefined): boolean =>
  answer?.state === 'refused' || answer?.state === 'rolled_back'

const decided = (answer: UpgradeOutcome | undefined): boolean => answer !== undefined && answer.state !== 'verifying'
