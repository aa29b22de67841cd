import { access, rm } from 'node:fs/promises'
import { Fault } from '../../../ipc/faults.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import type { AgentLink } from './agent-link.ts'
import { firstReport, type OnboardingDeps, storeHost } from './enrol.ts'
import {
  installedService,
  localFault,
  localProgram,
  SERVICE_EXECUTABLE,
  SERVICE_SOCKET,
  SERVICE_STATE,
} from './local.ts'
import { type LocalAgentDeps, localConnector, openLocal, statusOf, stopLocal } from './local-agent.ts'
import type { AgentPlace } from './ssh-connector.ts'

export const LOCAL_STEPS = ['Look at computer', 'Start agent', 'First report']

const UNDO_TIMEOUT_MS = 15_000

/** Makes this computer a host; the id of its row. Raises host/local-impossible, host/packages-missing and agent/*. */
export async function addLocalHost(
  deps: OnboardingDeps,
  { name, takeOver }: { name: string; takeOver: boolean },
  task: TaskContext,
): Promise<string> {
  task.plan(LOCAL_STEPS)
  const facts = { platform: deps.platform, arch: deps.arch, env: deps.env }
  const agentDeps: LocalAgentDeps = {
    clock: deps.clock,
    program: () => localProgram(deps.paths.agentArtefacts, facts),
  }
  const { place, before } = await task.step('Look at computer', async (step) => {
    const fault = await localFault(facts, name)
    if (fault) throw fault
    const found = await localPlace(deps)
    step.detail(found.startedBy === 'app' ? found.stateDir : 'the installed service')
    return { place: found, before: await whatIsThere(agentDeps, name, found) }
  })
  let link: AgentLink | undefined
  try {
    const opened = await task.step('Start agent', async (step) => {
      step.detail(place.socketPath)
      return localConnector(agentDeps, name, place).connect(task.signal)
    })
    link = opened
    const hello = await task.step('First report', (step) => {
      step.detail(place.socketPath)
      return firstReport(deps, opened, { name, takeOver }, task)
    })
    task.signal.throwIfAborted()
    const runsAs = hello.facts?.runsAs ?? ''
    const startedBy = place.startedBy === 'app' ? 'app' : hello.facts?.startedBy || place.startedBy
    return storeHost(deps, {
      name,
      kind: 'local',
      ssh: null,
      agent: { ...place, runsAs, startedBy },
      hostKeys: [],
      secrets: {},
      hello,
      link: opened,
    })
  } catch (error) {
    await undo(agentDeps, name, place, before, link)
    throw error
  }
}

async function localPlace({ paths }: Pick<OnboardingDeps, 'paths'>): Promise<AgentPlace> {
  if (await installedService())
    return { socketPath: SERVICE_SOCKET, executable: SERVICE_EXECUTABLE, stateDir: SERVICE_STATE, startedBy: 'systemd' }
  return {
    socketPath: paths.localAgentSocket,
    executable: '',
    stateDir: paths.localAgentState,
    startedBy: 'app',
  }
}

interface Before {
  running: boolean
  state: boolean
}

async function whatIsThere(deps: LocalAgentDeps, name: string, place: AgentPlace): Promise<Before> {
  const state = await access(place.stateDir).then(
    () => true,
    () => false,
  )
  const link = await openLocal(deps, name, place.socketPath, AbortSignal.timeout(UNDO_TIMEOUT_MS)).catch(
    () => undefined,
  )
  link?.close(new Fault('app/cancelled', 'cancelled'))
  return { running: link !== undefined, state }
}

/** Ends the agent this started and takes its state away where there was none. Never raises. */
async function undo(
  deps: LocalAgentDeps,
  name: string,
  place: AgentPlace,
  before: Before,
  link: AgentLink | undefined,
): Promise<void> {
  try {
    if (before.running || place.startedBy !== 'app') return
    const signal = AbortSignal.timeout(UNDO_TIMEOUT_MS)
    const living = link ?? (await openLocal(deps, name, place.socketPath, signal).catch(() => undefined))
    if (living) {
      const { pid } = await statusOf(living, name)
      await stopLocal(deps, name, pid, signal)
    }
    if (!before.state) await rm(place.stateDir, { recursive: true, force: true })
  } catch {
    // The first fault is the one to tell.
  } finally {
    link?.close(new Fault('app/cancelled', 'cancelled'))
  }
}
