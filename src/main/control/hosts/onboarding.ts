import { Fault } from '../../../ipc/faults.ts'
import type { TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { AddHostInput, OnboardingDeps } from './enrol.ts'
import { addJoinedHost, type JoinDeps } from './join-onboarding.ts'
import { addLocalHost } from './local-onboarding.ts'
import { addSshHost } from './ssh-onboarding.ts'

/**
 * Adds a host, step by step; nothing of it is stored before the last one, and what was put on the host is taken away when
 * a later step fails or the task is cancelled. Raises host/name-taken, host/already-added and the fault of the step.
 */
export async function addHost(...given: Parameters<typeof added>): Promise<TaskOutcome> {
  try {
    return await added(...given)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'host/unreachable') throw error
    // Of a host that is not in the fleet: it has no VMs, and nobody dials it again.
    const params = { ...error.params, adding: given[1].name }
    throw new Fault(error.code, error.disposition, params, { cause: error, id: error.id })
  }
}

async function added(
  deps: OnboardingDeps & { joins?: JoinDeps },
  input: AddHostInput,
  task: TaskContext,
): Promise<TaskOutcome> {
  const { name, way } = input
  if (way.kind === 'ssh' && way.joined && deps.joins)
    return { resultId: await addJoinedHost(deps, deps.joins, { ...way, name }, task) }
  if (deps.hosts.findByName(deps.tenant, name)) throw new Fault('host/name-taken', 'conflict', { host: name })
  if (way.kind === 'local')
    return { resultId: await addLocalHost(deps, { name, takeOver: way.takeOver === true }, task) }
  return { resultId: await addSshHost(deps, { ...way, name }, task) }
}
