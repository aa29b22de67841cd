import type { Duplex } from 'node:stream'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault, type FaultCode } from '../../../ipc/faults.ts'
import type { HostRow } from '../store/host-row.ts'
import { type AgentLink, type LinkConnector, openAgentLink } from './agent-link.ts'
import { type Asker, type DialDeps, signInTo } from './dial-host.ts'
import type { SshConnection } from './ssh/connection.ts'
import { runCommand, shellWord } from './ssh/exec.ts'
import { runScript } from './ssh/script.ts'
import { openStdio } from './ssh/stdio-carrier.ts'
import type { SudoAs } from './ssh/sudo-talk.ts'

export interface SshConnectorDeps extends DialDeps {
  clock: Clock
}

/** The agent as its row knows it. */
export interface AgentPlace extends Pick<HostRow['agent'], 'socketPath' | 'executable' | 'stateDir' | 'startedBy'> {
  /** It is root's, and the login becomes root by sudo. */
  sudo?: { password: string | undefined }
}

/** Nothing on the host starts these again when they end; cron does at a reboot. */
const UNWATCHED: readonly string[] = ['app', 'cron']

const START_TIMEOUT_MS = 25_000
const FIRST_EXEC_TIMEOUT_MS = 10_000

/** Reaches one added SSH host. Raises ssh/*, host/unreachable and agent/* faults. */
export function sshConnector(deps: SshConnectorDeps, host: HostRow): LinkConnector {
  return {
    connect: (signal) => reach(deps, host, signal),
  }
}

/** Signs in and opens the agent; the link closes the connection when it ends. `asker` as in `signInTo`. */
export async function reach(
  deps: SshConnectorDeps,
  host: HostRow,
  signal: AbortSignal,
  asker?: Asker,
): Promise<AgentLink> {
  const connection = await signInTo(deps, host, signal, asker)
  try {
    // Not waited for: what the login shell does at its start may take seconds.
    const sessionFree = host.agent.socketPath === RUN_ALONE ? undefined : firstExec(connection, host.name, signal)
    sessionFree?.catch(() => {})
    const options = { host: host.name, clock: deps.clock, signal, mayStart: true, sessionFree }
    return await openAgent(connection, placeOf(deps, host), options)
  } catch (error) {
    connection.close()
    throw error
  }
}

function placeOf({ secrets }: SshConnectorDeps, { id, agent, ssh }: HostRow): AgentPlace {
  const bySudo = ssh?.useSudo === true && agent.runsAs === 'root'
  return { ...agent, ...(bySudo ? { sudo: { password: secrets.of(id).sudoPassword } } : {}) }
}

const HARMLESS: readonly FaultCode[] = ['ssh/protocol', 'ssh/no-shell', 'ssh/sessions-refused']

/** Without a session channel sshd leaves Nagle on: 44 ms a call instead of 1. Refused where sessions are; harmless then. */
export async function firstExec(
  connection: Pick<SshConnection, 'exec'>,
  host: string,
  signal: AbortSignal,
): Promise<void> {
  const done = runCommand(connection, ':', { host, signal, timeoutMs: FIRST_EXEC_TIMEOUT_MS })
  await done.catch((error) => {
    if (!(error instanceof Fault) || !HARMLESS.includes(error.code)) throw error
  })
}

export interface OpenAgentOptions {
  host: string
  clock: Clock
  signal: AbortSignal
  mayStart: boolean
  /** Through the agent's own program alone; by sudo for a login that may not open its socket yet. */
  bridge?: { sudo?: SudoAs }
  /** Settles when no session channel is in use: a server may allow but one. Absent = none is. */
  sessionFree?: Promise<void> | undefined
  /** Runs once when the link ended. Absent = the connection is closed then. */
  onEnd?: () => void
}

/**
 * Opens the agent's socket over a signed-in connection: forwarded, else through the agent's own program. An agent that
 * nothing on the host watches is started when its socket refuses.
 */
export async function openAgent(
  connection: SshConnection,
  agent: AgentPlace,
  { host, clock, signal, mayStart, bridge, sessionFree, onEnd = () => connection.close() }: OpenAgentOptions,
): Promise<AgentLink> {
  const link = async (
    carrier: 'streamlocal' | 'stdio',
    open: (until: AbortSignal, lasting: boolean) => Promise<Duplex>,
  ) =>
    openAgentLink({
      duplex: await open(signal, true),
      carrier,
      sshClient: connection.client,
      ...(agent.socketPath === RUN_ALONE ? {} : { exec: connection.exec }),
      host,
      clock,
      hostKeyFingerprint: connection.hostKey.fingerprint,
      rxBytes: connection.rxBytes,
      another: (until) => open(until, false),
      onClose: onEnd,
    })
  const forwarded = () => link('streamlocal', () => connection.openSocket(agent.socketPath))
  const bridged = () =>
    link('stdio', (until, lasting) => {
      const options = { host, signal: until, lasting, sudo: bridge?.sudo }
      return openStdio(connection, agent, options)
    })
  if (bridge || agent.socketPath === RUN_ALONE) return bridged()
  const start = () => startAgent(connection, agent, host, signal)
  const startable = mayStart && UNWATCHED.includes(agent.startedBy)
  try {
    return await forwarded()
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  await sessionFree
  // Asking the kernel first saves the agent's own program a start.
  if (startable && !(await isListening(connection, agent.socketPath, host, signal))) {
    await start()
    return forwarded().catch((error: unknown) => {
      if (isRefusal(error)) return bridged()
      throw error
    })
  }
  return bridged().catch(async (error: unknown) => {
    if (!startable || !(error instanceof Fault) || error.code !== 'agent/not-running') throw error
    await start()
    return bridged()
  })
}

/** Socket path of an agent whose login runs it alone: it is its fixed command that knows where. */
export const RUN_ALONE = ''

/** A refused channel does not say why: no forwarding allowed, no such socket, or nobody behind it. */
const isRefusal = (error: unknown): boolean => error instanceof Fault && error.code === 'ssh/protocol'

/** Whether somebody listens on a unix socket of the host; true when the host cannot say. */
async function isListening(
  connection: Pick<SshConnection, 'exec'>,
  path: string,
  host: string,
  signal: AbortSignal,
): Promise<boolean> {
  const script = `[ -r /proc/net/unix ] || exit 0; grep -qF ${shellWord(` ${path}`)} /proc/net/unix`
  return (await runScript(connection, script, { host, signal, timeoutMs: FIRST_EXEC_TIMEOUT_MS })).code === 0
}

/** Starts an agent that nothing on the host starts again by itself. Idempotent. Raises agent/not-running. */
export async function startAgent(
  connection: Pick<SshConnection, 'exec'>,
  agent: AgentPlace,
  host: string,
  signal: AbortSignal,
): Promise<void> {
  const words = [agent.executable, 'start', '--state-dir', agent.stateDir, '--socket', agent.socketPath]
  const command = words.map(shellWord).join(' ')
  const options = { host, signal, timeoutMs: START_TIMEOUT_MS }
  const { sudo } = agent
  const ran = sudo ? runScript(connection, command, { ...options, sudo }) : runCommand(connection, command, options)
  const { code, stderr } = await ran.catch((error: unknown) => {
    if (!(error instanceof Fault) || error.code !== 'ssh/sudo-refused') throw error
    return { code: 1, stderr: `sudo refused: ${error.params['detail'] ?? ''}` }
  })
  if (code === 0) return
  const detail = stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? ''
  throw new Fault('agent/not-running', 'transient', { host, ...(detail ? { detail } : {}) })
}
