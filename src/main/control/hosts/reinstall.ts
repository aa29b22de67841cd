import { Fault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import type { Artefacts } from './artefacts.ts'
import { signInTo } from './dial-host.ts'
import { installAgent, installMode } from './install.ts'
import { artefactFor, lookAtHost, lookWords } from './look.ts'
import type { HostSecrets } from './secrets.ts'
import { firstExec, type SshConnectorDeps } from './ssh-connector.ts'
import { checkSudo } from './sudo.ts'

export interface ReinstallDeps {
  ssh: SshConnectorDeps
  secrets: HostSecrets
}

/**
 * Puts the agent on an added host as when it was added, for agents that take no offers: nothing watches over it and goes
 * back. Raises agent/too-old where there is no login to do it with, ssh/*, agent/install-failed.
 */
export async function reinstallAgent(
  { ssh, secrets }: ReinstallDeps,
  host: HostRow,
  artefacts: Artefacts,
  task: TaskContext,
): Promise<void> {
  const { name } = host
  if (host.kind !== 'ssh' || host.credential !== 'login') throw noWayThere(host)
  task.plan(['Sign in', 'Look at host', 'Install agent', 'First report'])
  const connection = await task.step('Sign in', () => signInTo(ssh, host, task.signal, task))
  try {
    await firstExec(connection, name, task.signal)
    const look = await task.step('Look at host', async (step) => {
      const found = await lookAtHost(connection, name, task.signal)
      step.detail(lookWords(found))
      return found
    })
    await task.step('Install agent', async (step) => {
      step.detail(`agent ${artefacts.version}; the one there takes no offers, so nothing goes back by itself`)
      const mode = installMode(look, host.ssh?.useSudo === true, name)
      const asked = { host: name, login: `${look.user}@${name}`, password: secrets.of(host.id).sudoPassword }
      const sudoPassword = mode === 'sudo' ? await checkSudo(connection, asked, task) : undefined
      const artefact = artefactFor(look, name, artefacts)
      const context = { connection, host: name, look, mode, sudoPassword, signal: task.signal }
      await installAgent(context, artefact, step.progress)
    })
  } finally {
    connection.close()
  }
}

function noWayThere({ name, kind, agentVersion }: HostRow): Fault {
  const next =
    kind === 'local'
      ? 'Put the newer agent in its place by hand: eitri-agent install --start.'
      : 'Put the newer agent there by hand, and run there: eitri-agent install --start.'
  const what = 'an upgrade from here'
  return new Fault('agent/too-old', 'permanent', { host: name, version: agentVersion, what, next })
}
