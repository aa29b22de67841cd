import { asFault, Fault } from '../../../ipc/faults.ts'
import { GiB } from '../../../ipc/units.ts'
import type { Keep, StepContext, TaskContext } from '../tasks/task-context.ts'
import type { AgentLink } from './agent-link.ts'
import { readArtefacts } from './artefacts.ts'
import { attachOnce } from './attach-once.ts'
import { agreeToTakeOver, firstReport, type OnboardingDeps, type SshWay, storeHost } from './enrol.ts'
import { type Entrance, sshDepsOf } from './entrance.ts'
import { type InstallContext, type Installed, installAgent, installMode, undoInstall, wantedMode } from './install.ts'
import { type InstallMode, installFacts, installScriptShown } from './install-plan.ts'
import { artefactFor, type HostLook, INSTALL_NEEDS_BYTES, lookAtHost, lookWords } from './look.ts'
import { lookChecks } from './look-checks.ts'
import { installPackages, missingPackages } from './packages.ts'
import type { SshConnection } from './ssh/connection.ts'
import { FORCED_AGENT } from './ssh/script.ts'
import type { SudoAs } from './ssh/sudo-talk.ts'
import { firstExec, openAgent, RUN_ALONE } from './ssh-connector.ts'
import { ENTRANCE_STEPS, enterSshHost } from './ssh-entrance.ts'
import { checkSudo } from './sudo.ts'

export const SSH_STEPS = [...ENTRANCE_STEPS, 'Look at host', 'Install agent', 'Start agent', 'First report']

const UNDO_CONNECT_MS = 30_000

/** Runs the named steps of an SSH host; the id of its row. Raises the fault of the step that failed. */
export async function addSshHost(
  deps: OnboardingDeps,
  way: SshWay & { name: string },
  task: TaskContext,
): Promise<string> {
  task.plan(SSH_STEPS)
  deps.secrets.mustKeep(way.keep ?? 'memory')
  const entrance = await enterSshHost(sshDepsOf(deps), { tenant: deps.tenant, way }, task)
  const onboarding = new SshOnboarding(deps, way, task, entrance)
  try {
    return await onboarding.run()
  } catch (error) {
    await onboarding.undo()
    throw error
  }
}

/** The steps behind the door: everything that looks at or changes the host. */
class SshOnboarding {
  readonly #deps: OnboardingDeps
  readonly #way: SshWay & { name: string }
  readonly #task: TaskContext
  readonly #entrance: Entrance
  #connection: SshConnection
  #look: HostLook | undefined
  #mode: InstallMode = 'user'
  #sudoPassword: string | undefined
  #takeOver: boolean
  #installed: Installed | undefined
  #link: AgentLink | undefined
  /** The connection is the link's from then on. */
  #handedOver = false

  constructor(deps: OnboardingDeps, way: SshWay & { name: string }, task: TaskContext, entrance: Entrance) {
    this.#deps = deps
    this.#way = way
    this.#task = task
    this.#entrance = entrance
    this.#connection = entrance.connection
    this.#sudoPassword = way.sudoPassword || undefined
    this.#takeOver = way.takeOver === true
  }

  async run(): Promise<string> {
    const task = this.#task
    await firstExec(this.#connection, this.#way.name, task.signal)
    const look = await task.step('Look at host', (step) => this.#lookAtHost(step).catch(runsAlone(step)))
    this.#look = look
    if (look) this.#installed = await task.step('Install agent', (step) => this.#install(look, step))
    else task.skip('Install agent', 'it is there: this login runs nothing else')
    const installed = this.#installed ?? ALONE
    const link = await task.step('Start agent', (step) => this.#open(look, installed, step))
    this.#link = link
    const { name } = this.#way
    const hello = await task.step('First report', (step) => {
      if (installed.version) step.detail(`agent ${installed.version}`)
      return firstReport(this.#deps, link, { name, takeOver: this.#takeOver }, task)
    })
    task.signal.throwIfAborted()
    this.#handedOver = true
    const { hostKeys, secrets, ssh, keep = this.#way.keep } = this.#entrance
    const id = storeHost(this.#deps, {
      name,
      kind: 'ssh',
      ssh: { ...ssh, useSudo: this.#mode === 'sudo' },
      agent: {
        socketPath: installed.socket,
        executable: installed.executable,
        stateDir: installed.state_dir,
        runsAs: installed.runs_as,
        startedBy: installed.started_by,
      },
      hostKeys,
      secrets: { ...secrets, ...(this.#sudoPassword ? { sudoPassword: this.#sudoPassword } : {}) },
      hello,
      link,
    })
    await this.#keep(id, keep)
    return id
  }

  /** The host is added whether its secrets can be kept or not: it asks again after the next start. */
  async #keep(id: string, keep: Keep | undefined): Promise<void> {
    const { secrets, log } = this.#deps
    if (keep !== 'keychain' || !secrets.keptIn(id)) return
    await secrets.keep(id, keep).catch((error: unknown) => {
      log.warn('secrets.not-kept', { host: this.#way.name, code: asFault(error).code })
    })
  }

  /** Takes away what was put there, unless an agent was there before. Never raises. */
  async undo(): Promise<void> {
    this.#link?.close(new Fault('app/cancelled', 'cancelled'))
    if (this.#installed && this.#look && !this.#look.agent) {
      const signal = AbortSignal.timeout(UNDO_CONNECT_MS)
      const context = { ...this.#context(this.#look), signal }
      const done = await undoInstall(context, this.#installed)
      if (!done) {
        const connection = await this.#reconnect(signal).catch(() => undefined)
        if (connection) await undoInstall({ ...context, connection }, this.#installed)
        connection?.close()
      }
    }
    this.#connection.close()
  }

  async #lookAtHost(step: StepContext): Promise<HostLook> {
    const { name, useSudo } = this.#way
    const look = await lookAtHost(this.#connection, name, this.#task.signal)
    step.detail(lookWords(look))
    step.checks(lookChecks(look, wantedMode(look, useSudo === true)))
    artefactFor(look, name, await readArtefacts(this.#deps.paths.agentArtefacts))
    this.#mode = installMode(look, useSudo === true, name)
    checkSpace(look, this.#mode, name)
    if (this.#mode === 'sudo') await this.#checkSudo()
    await this.#packages(look, step)
    await this.#checkHolder(look)
    return look
  }

  async #checkSudo(): Promise<void> {
    const { login } = this.#entrance
    const { name: host } = this.#way
    const asked = { host, login, password: this.#sudoPassword }
    this.#sudoPassword = await checkSudo(this.#connection, asked, this.#task)
  }

  async #packages(look: HostLook, step: StepContext): Promise<void> {
    const lacking = missingPackages(look)
    if (!lacking) return
    const { name: host } = this.#way
    const { missing, command } = lacking
    const fault = new Fault('host/packages-missing', 'permanent', { host, missing: missing.join(', '), command })
    if (command === '' || look.sudo === 'none') throw fault
    const shown = look.isRoot ? command : `sudo sh -c '${command}'`
    const agreed =
      this.#way.installPackages === true || (await this.#task.ask({ kind: 'packages', missing, command: shown })).agree
    if (agreed !== true) throw fault
    if (!look.isRoot && this.#mode !== 'sudo') await this.#checkSudo()
    step.detail(`installing ${missing.join(', ')}`)
    const sudo = look.isRoot ? {} : { sudo: { password: this.#sudoPassword } }
    await installPackages(this.#connection, lacking, { host, signal: this.#task.signal, ...sudo })
    const now = { ...look, qemu: true, qemuImg: true }
    step.checks(lookChecks(now, this.#mode))
    step.detail(lookWords(look))
  }

  /** An agent that runs here already: ours raises host/already-added, another control plane's is taken over only by consent. */
  async #checkHolder(look: HostLook): Promise<void> {
    const { name } = this.#way
    const status = look.agent?.status
    if (!look.agent || !status?.running || !status.socket || !status.fleetId) return
    const foreign = status.fleetId !== this.#deps.attachAs.fleetId
    if (foreign && this.#takeOver) return
    const place = { socketPath: status.socket, executable: look.agent.executable, stateDir: '', startedBy: '' }
    const { signal } = this.#task
    const options = { host: name, clock: this.#deps.clock, signal, mayStart: false, onEnd: () => {} }
    const link = await openAgent(this.#connection, place, options)
    try {
      if (foreign) await attachOnce(link, name, this.#deps.attachAs, { takeOver: false, signal })
      else await firstReport(this.#deps, link, { name, takeOver: false }, this.#task)
    } catch (error) {
      await agreeToTakeOver(error, this.#task)
      this.#takeOver = true
    } finally {
      link.close(new Fault('app/cancelled', 'cancelled'))
    }
  }

  async #install(look: HostLook, step: StepContext): Promise<Installed> {
    const artefacts = await readArtefacts(this.#deps.paths.agentArtefacts)
    const artefact = artefactFor(look, this.#way.name, artefacts)
    const plan = { look, mode: this.#mode, artefact, version: artefacts.version }
    step.shows({ facts: installFacts(plan), script: installScriptShown(plan) })
    const where = this.#mode === 'user' ? `for ${look.user} alone` : 'for the whole host'
    step.detail(`agent ${artefacts.version} ${where}, SHA-256 ${artefact.sha256.slice(0, 12)}…`)
    const installed = await installAgent(this.#context(look), artefact, step.progress)
    step.detail([installed.executable, ...installed.warnings].join('; '))
    return installed
  }

  async #open(look: HostLook | undefined, installed: Installed, step: StepContext): Promise<AgentLink> {
    // Membership of the agent's group counts from the next login on: until then it is reached as root.
    const early = this.#mode === 'sudo' && look?.inGroup === false
    const link = early
      ? await this.#openAt(installed, { sudo: { password: this.#sudoPassword } }).catch(async (error: unknown) => {
          if (!(error instanceof Fault) || error.code !== 'ssh/sudo-refused') throw error
          const before = this.#connection
          this.#connection = await this.#reconnect(this.#task.signal)
          before.close()
          return this.#openAt(installed)
        })
      : await this.#openAt(installed)
    const starter =
      installed.started_by === 'app' ? 'the app starts it: it does not come back by itself' : installed.started_by
    step.detail([starter, `reached by ${link.carrier}`].filter(Boolean).join('; '))
    return link
  }

  #openAt(installed: Installed, bridge?: { sudo: SudoAs }): Promise<AgentLink> {
    const { name: host } = this.#way
    const place = {
      socketPath: installed.socket,
      executable: installed.executable,
      stateDir: installed.state_dir,
      startedBy: installed.started_by,
    }
    const connection = this.#connection
    // What takes an install back needs no sign-in of its own.
    const onEnd = () => void (this.#handedOver && connection.close())
    const { clock } = this.#deps
    const options = { host, clock, signal: this.#task.signal, mayStart: true, onEnd, ...(bridge ? { bridge } : {}) }
    return openAgent(connection, place, options)
  }

  #context(look: HostLook): InstallContext {
    const { name: host } = this.#way
    const { signal } = this.#task
    return { connection: this.#connection, host, look, mode: this.#mode, sudoPassword: this.#sudoPassword, signal }
  }

  async #reconnect(signal: AbortSignal): Promise<SshConnection> {
    const connection = await this.#entrance.again(signal)
    await firstExec(connection, this.#way.name, signal)
    return connection
  }
}

/** What is known of an agent that a login runs alone. */
const ALONE: Installed = {
  socket: RUN_ALONE,
  executable: '',
  state_dir: '',
  started_by: '',
  runs_as: '',
  version: '',
  steer_users: [],
  did: [],
  warnings: [],
}

/** A login with a fixed command is no failure when that command is the agent's own. */
const runsAlone =
  (step: StepContext) =>
  (error: unknown): undefined => {
    if (!(error instanceof Fault) || error.params['forced'] !== FORCED_AGENT) throw error
    step.detail('this login runs the agent alone')
  }

function checkSpace(look: HostLook, mode: InstallMode, host: string): void {
  const free = mode === 'user' ? look.homeFreeBytes : look.systemFreeBytes
  if (free === undefined || free >= INSTALL_NEEDS_BYTES) return
  const gib = (bytes: number) => `${(bytes / GiB).toFixed(1)} GiB`
  throw new Fault('host/disk-full', 'permanent', { host, free: gib(free), needed: gib(INSTALL_NEEDS_BYTES) })
}
