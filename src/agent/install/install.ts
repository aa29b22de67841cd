import { lstat, readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import {
  copyDurable,
  ensureDir,
  isAbsent,
  linkDurable,
  removeTree,
  setMode,
  setOwner,
  writeDurable,
} from '../os/files.ts'
import { requireUsable } from '../records/identity.ts'
import { agentLayout } from '../records/layout.ts'
import { askStatus } from '../status/agent-status.ts'
import { ensureAgentGroup, type GroupChange } from './agent-group.ts'
import type { HostAccess } from './host-access.ts'
import { type InstallRecord, installNote, readInstall, type StartedBy, writeInstall } from './install-record.ts'
import { clearInstallLeftovers } from './leftovers.ts'
import { AGENT_GROUP, type AgentPlaces, agentPlaces, groupId } from './places.ts'
import { type RunningProgram, wrapperScript } from './self.ts'
import { hasUserManager, service } from './service.ts'
import { startDetached, stopAgent, waitForAgent } from './start.ts'
import { supervisorChoices } from './supervisor.ts'

export interface InstallFlags {
  start?: boolean
  /** Root installs as a login would, for itself alone. */
  user?: boolean
  /** Logins that may steer a root agent. */
  steerUser?: readonly string[]
  stateDir?: string
  socket?: string
}

export interface InstallInput extends InstallFlags {
  host: HostAccess
  program: RunningProgram
  version: string
  digest: string
}

/** `install --json`. */
export interface Installed {
  state_dir: string
  socket: string
  executable: string
  started_by: StartedBy
  runs_as: string
  version: string
  digest: string
  /** Group that may steer; empty = only the login itself. */
  group: string
  steer_users: string[]
  running: boolean
  did: string[]
  warnings: string[]
}

/** Puts this agent in place, or again: idempotent. Raises agent/install-failed and agent/identity-damaged; what it newly put there is removed. */
export async function install(input: InstallInput): Promise<Installed> {
  const steps = new Steps()
  try {
    return await new Installation(input, steps).run()
  } catch (error) {
    await steps.undo()
    if (error instanceof Fault) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new Fault('agent/install-failed', 'permanent', { message }, { cause: error })
  }
}

/** What was done, for people, and how to take back what was new. */
class Steps {
  readonly did: string[] = []
  readonly warnings: string[] = []
  readonly #undo: (() => Promise<unknown>)[] = []

  add(what: string, undo?: () => Promise<unknown>): void {
    this.did.push(what)
    if (undo) this.undoing(undo)
  }
  /** Of a step nobody needs to hear of. */
  undoing(undo: () => Promise<unknown>): void {
    this.#undo.push(undo)
  }
  async undo(): Promise<void> {
    for (const step of this.#undo.toReversed()) await step().catch(() => {})
  }
}

class Installation {
  readonly #input: InstallInput
  readonly #host: HostAccess
  readonly #places: AgentPlaces
  readonly #root: boolean
  readonly #steps: Steps

  constructor(input: InstallInput, steps: Steps) {
    const { host, user = false, stateDir, socket } = input
    this.#input = input
    this.#host = host
    this.#steps = steps
    this.#root = host.login.uid === 0 && !user
    this.#places = agentPlaces(host.login, { asUser: user, stateDir, socket, prefix: host.prefix })
  }

  async run(): Promise<Installed> {
    const { stateDir, socket, link } = this.#places
    const { host, version, digest, steerUser = [], start = false } = this.#input
    await clearInstallLeftovers('install.clean', host, this.#places, version)
    await this.#directories()
    const executable = await this.#executable()
    await this.#link(executable)
    const change = this.#root ? await this.#group(steerUser) : undefined
    const group = change ? AGENT_GROUP : ''
    const started_by = await this.#supervise()
    await writeInstall('install.note', stateDir, this.#note(started_by, change ?? { made: false, members: [] }))
    if (start) await this.#start(started_by)
    return {
      state_dir: stateDir,
      socket,
      executable: link,
      started_by,
      runs_as: host.login.name,
      version,
      digest,
      group,
      steer_users: group === '' ? [] : [...steerUser],
      running: start || (await askStatus(socket)).running,
      did: this.#steps.did,
      warnings: this.#steps.warnings,
    }
  }

  async #directories(): Promise<void> {
    const { stateDir, libDir, link } = this.#places
    for (const [dir, mode] of [
      [dirname(link), 0o755],
      [libDir, 0o755],
      [stateDir, 0o700],
    ] as const) {
      if (await exists(dir)) continue
      await ensureDir('install.dir', dir, mode)
      this.#steps.add(`made ${dir}`, () =>
        dir === dirname(link) ? Promise.resolve() : removeTree('install.undo-dir', dir),
      )
    }
  }

  /** Copies this program under its version; a running agent keeps its own open file. */
  async #executable(): Promise<string> {
    const { program, version } = this.#input
    const dir = join(this.#places.libDir, version)
    const target = join(dir, 'eitri-agent')
    const fresh = !(await exists(dir))
    await ensureDir('program.dir', dir, 0o755)
    const undo = fresh ? () => removeTree('program.undo', dir) : undefined
    if (program.kind === 'executable') await copyDurable('program.copy', program.file, target, 0o755)
    else {
      const script = program.kind === 'source' ? program.file : join(dir, 'agent.cjs')
      if (program.kind === 'bundle') await copyDurable('bundle.copy', program.file, script, 0o755)
      await writeDurable('wrapper.write', target, wrapperScript(program.node, script), 0o755)
    }
    this.#steps.add(`put the agent at ${target}`, undo)
    return target
  }

  async #link(executable: string): Promise<void> {
    const { link } = this.#places
    const before = await lstat(link).catch(() => undefined)
    if (before && !before.isSymbolicLink()) throw new Error(`${link} is there already and is not a link`)
    await linkDurable('program.link', executable, link)
    this.#steps.add(`linked ${link}`, before ? undefined : () => removeTree('program.unlink', link))
  }

  /** Undefined = no group: only root may steer. */
  async #group(steerUsers: readonly string[]): Promise<GroupChange | undefined> {
    const host = this.#host
    const before = await readInstall(this.#places.stateDir)
    const withBefore = ({ made, members }: GroupChange): GroupChange => ({
      made: made || before?.group.made === true,
      members: [...new Set([...(before?.group.members ?? []), ...members])],
    })
    // What is changed is noted first, else an uninstall after a crash in between would leave it.
    const change = await ensureAgentGroup(host, steerUsers, this.#steps, async (planned) => {
      const note = this.#note(before?.started_by ?? 'app', withBefore(planned))
      await writeInstall('install.intent', this.#places.stateDir, note)
      if (!before) this.#steps.undoing(() => removeTree('install.undo-note', installNote(this.#places.stateDir)))
    })
    if (!change) {
      this.#steps.warnings.push(`The group ${AGENT_GROUP} could not be made; only root may steer the agent.`)
      return undefined
    }
    const socketDir = dirname(this.#places.socket)
    const gid = groupId(AGENT_GROUP, await readFile(join(host.prefix, '/etc/group'), 'utf8').catch(() => ''))
    if (gid !== undefined && socketDir.endsWith('/eitri') && (await exists(socketDir))) {
      await setOwner('run-dir.owner', socketDir, 0, gid)
      await setMode('run-dir.mode', socketDir, 0o750)
    }
    return withBefore(change)
  }

  #note(started_by: StartedBy, group: GroupChange): InstallRecord {
    const { link, socket } = this.#places
    return { executable: link, version: this.#input.version, started_by, runs_as: this.#host.login.name, socket, group }
  }

  /** The best way to be started again that this host lets us use; the ones before it are named as warnings. */
  async #supervise(): Promise<StartedBy> {
    const host = this.#host
    const cron = (await host.find('crontab')) !== undefined && (await host.cronRuns())
    const userManager = !this.#root && (await hasUserManager(host))
    const { link: executable, stateDir, socket } = this.#places
    for (const kind of supervisorChoices({ root: this.#root, init: host.init, userManager, cron })) {
      const way = service(kind, host)
      try {
        await way.enable({ executable, stateDir, socket })
        if (kind !== 'app') this.#steps.add(`set up ${kind}`, () => way.disable())
        else this.#steps.warnings.push('Nothing on this host starts the agent again after a reboot; the app does.')
        return kind
      } catch (error) {
        await way.disable().catch(() => [])
        this.#steps.warnings.push(`${kind} cannot be used: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    return 'app'
  }

  async #start(started_by: StartedBy): Promise<void> {
    const { version, digest, host } = this.#input
    const { link, stateDir, socket } = this.#places
    const wanted = (status: { agentVersion: string; agentDigest: string }) =>
      status.agentVersion === version && status.agentDigest === digest
    const { restart } = service(started_by, host)
    const now = await askStatus(socket)
    if (!restart && now.running && digest !== '' && wanted(now.status)) {
      this.#steps.add('found it running already')
      return
    }
    // Before the old one is ended: none could take its place.
    await requireUsable(agentLayout(stateDir).identity)
    // Also one that nothing supervises: it would hold the socket against the one that is started now.
    await stopAgent(socket)
    if (restart) await restart()
    else await startDetached({ command: [link], stateDir, socket })
    await waitForAgent(socket, wanted)
    this.#steps.add('started it', async () => {
      await service(started_by, host).stop?.()
      await stopAgent(socket)
    })
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}
