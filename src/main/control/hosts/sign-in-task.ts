import { Fault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import type { Keep, TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import type { AgentLink } from './agent-link.ts'
import { reach, type SshConnectorDeps } from './ssh-connector.ts'

export interface SignInTaskDeps {
  hosts: { get(id: string): HostRow }
  links: { hand(hostId: string, link: AgentLink): void }
  ssh: SshConnectorDeps
}

export const SIGN_IN_STEP = 'Sign in'

/**
 * Signs in to an added host, asking the person what it asks, and hands the connection on to its link: there is no second
 * sign-in. Raises ssh/*, host/*, agent/*.
 */
export async function signInByTask(
  { hosts, links, ssh }: SignInTaskDeps,
  hostId: string,
  keep: Keep,
  task: TaskContext,
): Promise<TaskOutcome> {
  const host = hosts.get(hostId)
  task.plan([SIGN_IN_STEP])
  await task.step(SIGN_IN_STEP, async (step) => {
    if (!host.ssh) throw new Fault('input/invalid', 'permanent', { field: 'host', value: host.name, problem: NO_SSH })
    step.detail(`${host.ssh.user}@${host.ssh.host}:${host.ssh.port}`)
    links.hand(hostId, await reach(ssh, host, task.signal, task))
    if (keep === 'keychain') await ssh.secrets.keep(hostId, keep)
  })
  return { resultId: hostId }
}

const NO_SSH = 'it is this computer, nobody signs in to it'
