import { rm } from 'node:fs/promises'
import { Fault } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import type { TaskContext, TaskOutcome } from '../tasks/task-context.ts'
import { signInTo } from './dial-host.ts'
import { SERVICE_STATE } from './local.ts'
import { type LocalAgentDeps, openLocal, statusOf, stopLocal } from './local-agent.ts'
import type { HostSecrets } from './secrets.ts'
import { shellWord } from './ssh/exec.ts'
import { runScript } from './ssh/script.ts'
import { firstExec, type SshConnectorDeps } from './ssh-connector.ts'
import { checkSudo } from './sudo.ts'

export interface RemoveHostDeps {
  hosts: { get(id: string): HostRow }
  links: { pause(hostId: string): Promise<void>; add(hostId: string): void }
  pushes: { stop(hostId: string): Promise<void> }
  ssh: SshConnectorDeps
  local: LocalAgentDeps
  secrets: HostSecrets
}

const UNINSTALL_TIMEOUT_MS = 60_000
const LOCAL_TIMEOUT_MS = 30_000

/**
 * Removes the agent and its state from a host; the row stays for the caller to forget. The link is paused first, or it
 * would start the agent again; it goes on when this fails. Raises ssh/*, host/*, agent/remove-failed.
 */
export async function removeAgent(deps: RemoveHostDeps, hostId: string, task: TaskContext): Promise<TaskOutcome> {
  const host = deps.hosts.get(hostId)
  task.plan(['Remove agent'])
  await deps.pushes.stop(hostId)
  await deps.links.pause(hostId)
  try {
    await task.step('Remove agent', async (step) => {
      step.detail(host.agent.executable || host.agent.stateDir)
      if (host.kind === 'local') await removeLocal(deps.local, host, task.signal)
      else await removeSsh(deps, host, task)
    })
  } catch (error) {
    deps.links.add(hostId)
    throw error
  }
  return { resultId: hostId }
}

async function removeSsh(
  deps: RemoveHostDeps,
  host: HostRow,
  task: Pick<TaskContext, 'ask' | 'signal'>,
): Promise<void> {
  const { signal } = task
  const connection = await signInTo(deps.ssh, host, signal, task)
  try {
    await firstExec(connection, host.name, signal)
    const login = `${host.ssh?.user}@${host.ssh?.hostname}`
    const needsSudo = host.ssh?.useSudo === true
    const { sudoPassword } = deps.secrets.of(host.id)
    const password = needsSudo
      ? await checkSudo(connection, { host: host.name, login, password: sudoPassword }, task)
      : undefined
    const user = host.agent.runsAs === 'root' ? '' : ' --user'
    const command = `[ -x ${shellWord(host.agent.executable)} ] || exit 0
${shellWord(host.agent.executable)} uninstall --json --purge${user}`
    const { code, output, stderr } = await runScript(connection, command, {
      host: host.name,
      signal,
      timeoutMs: UNINSTALL_TIMEOUT_MS,
      ...(needsSudo ? { sudo: { password } } : {}),
    })
    if (code === 0) return
    if (output.includes('"vm/stop-failed"')) throw hasVms(host.name)
    const detail = stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? ''
    throw new Fault('agent/remove-failed', 'permanent', { host: host.name, detail })
  } finally {
    connection.close()
  }
}

const hasVms = (host: string) => new Fault('host/has-vms', 'permanent', { host, vms: 'some that run there' })

/** The installed service stays: it is not ours to remove. */
async function removeLocal(local: LocalAgentDeps, host: HostRow, signal: AbortSignal): Promise<void> {
  const { socketPath, stateDir, startedBy } = host.agent
  if (startedBy !== 'app' || stateDir === SERVICE_STATE) return
  const link = await openLocal(local, host.name, socketPath, signal).catch(() => undefined)
  if (link) {
    const { pid, vmsRunning } = await statusOf(link, host.name).finally(() =>
      link.close(new Fault('app/cancelled', 'cancelled')),
    )
    if (vmsRunning > 0) throw hasVms(host.name)
    await stopLocal(local, host.name, pid, AbortSignal.any([signal, AbortSignal.timeout(LOCAL_TIMEOUT_MS)]))
  }
  await rm(stateDir, { recursive: true, force: true })
}
