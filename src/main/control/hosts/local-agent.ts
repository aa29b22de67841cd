import { spawn } from 'node:child_process'
import net from 'node:net'
import type { Clock } from '../../../ipc/base/clock.ts'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { GetStatusResponse } from '../../../ipc/gen/eitri/agent/v1/host_pb.js'
import { KiB } from '../../../ipc/units.ts'
import { type AgentLink, type LinkConnector, openAgentLink } from './agent-link.ts'
import type { AgentPlace } from './ssh-connector.ts'

/** How the local agent is run; read anew before each start, since a build may replace it. */
export interface AgentProgram {
  command: string
  /** Before the agent's own arguments. */
  args: string[]
  env?: Record<string, string>
  buildDigest: string
}

export interface LocalAgentDeps {
  clock: Clock
  program(): Promise<AgentProgram>
  /** SIGTERM to a process of ours; false when it is gone. Injected for tests. */
  terminate?: (pid: number) => boolean
}

const DIAL_TIMEOUT_MS = 5_000
const STATUS_TIMEOUT_MS = 10_000
const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 10_000
const STOP_POLL_MS = 50

/** This computer's agent over its unix socket: started when it does not listen, restarted when it is of another build. */
export function localConnector(deps: LocalAgentDeps, host: string, agent: AgentPlace): LinkConnector {
  return {
    async connect(signal) {
      const link = await openLocal(deps, host, agent.socketPath, signal).catch(async (error: unknown) => {
        if (!isDown(error) || agent.startedBy !== 'app') throw error
        await startLocal(deps, host, agent, signal)
        return openLocal(deps, host, agent.socketPath, signal)
      })
      if (agent.startedBy !== 'app') return link
      return ofThisBuild(deps, host, agent, link, signal)
    },
  }
}

/** Raises agent/not-running when nothing listens, host/unreachable otherwise. */
export async function openLocal(
  { clock }: Pick<LocalAgentDeps, 'clock'>,
  host: string,
  socketPath: string,
  signal: AbortSignal,
): Promise<AgentLink> {
  const socket = await dialLocal(host, socketPath, signal)
  return openAgentLink({
    duplex: socket,
    carrier: 'unix',
    host,
    clock,
    hostKeyFingerprint: '',
    rxBytes: () => socket.bytesRead,
    another: (until) => dialLocal(host, socketPath, until),
    onClose: () => socket.destroy(),
  })
}

function dialLocal(host: string, socketPath: string, signal: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(socketPath)
    const settle = (end: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      end()
    }
    const fail = (error: unknown) =>
      settle(() => {
        socket.destroy()
        reject(error)
      })
    const abort = () => fail(signal.reason)
    const timer = setTimeout(() => fail(dialFault(host, socketPath, 'timed out')), DIAL_TIMEOUT_MS)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const down = error.code === 'ENOENT' || error.code === 'ECONNREFUSED'
      fail(down ? new Fault('agent/not-running', 'transient', { host }) : dialFault(host, socketPath, error.code ?? ''))
    })
    socket.once('connect', () =>
      settle(() => {
        socket.removeAllListeners('error')
        socket.on('error', () => {})
        resolve(socket)
      }),
    )
  })
}

/** Starts a detached agent that outlives this process; no-op when it runs. Raises agent/not-running, app/part-missing. */
export async function startLocal(
  deps: LocalAgentDeps,
  host: string,
  agent: AgentPlace,
  signal: AbortSignal,
): Promise<void> {
  const { command, args, env } = await deps.program()
  const failed = (detail: string, cause?: unknown) =>
    new Fault('agent/not-running', 'transient', { host, detail: detail.slice(0, 300) }, { cause })
  await new Promise<void>((resolve, reject) => {
    const child = spawn(command, [...args, 'start', '--state-dir', agent.stateDir, '--socket', agent.socketPath], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
      signal: AbortSignal.any([signal, AbortSignal.timeout(START_TIMEOUT_MS)]),
    })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4 * KiB)
    })
    child.on('error', (error) => reject(signal.aborted ? signal.reason : failed(error.message, error)))
    child.on('exit', (code) => {
      child.stderr.destroy()
      if (code === 0) resolve()
      else reject(failed(said.trim().split('\n').at(-1) || `it ended with ${code}`))
    })
  })
}

/** Ends an agent of ours; its VMs go on. Resolves when its process is gone. Raises agent/not-running when it stays. */
export async function stopLocal(
  { clock, terminate = sigterm }: LocalAgentDeps,
  host: string,
  pid: number,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.monotonic() + STOP_TIMEOUT_MS
  let there = terminate(pid)
  while (there && clock.monotonic() < until) {
    await clock.sleep(STOP_POLL_MS, signal)
    there = isThere(pid)
  }
  if (there) throw new Fault('agent/not-running', 'transient', { host, detail: `the old agent (${pid}) does not end` })
}

/** Raises host/no-answer and what the link ended with. */
export async function statusOf(link: AgentLink, host: string): Promise<GetStatusResponse> {
  return link.client.getStatus({}, { timeoutMs: STATUS_TIMEOUT_MS }).catch((error: unknown) => {
    const fault = fromConnectError(error, 'host/no-answer')
    throw fault.code === 'app/timeout' ? new Fault('host/no-answer', 'transient', { host }, { cause: error }) : fault
  })
}

async function ofThisBuild(
  deps: LocalAgentDeps,
  host: string,
  agent: AgentPlace,
  link: AgentLink,
  signal: AbortSignal,
): Promise<AgentLink> {
  try {
    const { agentDigest, pid } = await statusOf(link, host)
    const { buildDigest } = await deps.program()
    if (buildDigest === '' || agentDigest === buildDigest) return link
    await stopLocal(deps, host, pid, signal)
  } catch (error) {
    link.close(new Fault('app/cancelled', 'cancelled'))
    throw error
  }
  link.close(new Fault('app/cancelled', 'cancelled'))
  await startLocal(deps, host, agent, signal)
  return openLocal(deps, host, agent.socketPath, signal)
}

const isDown = (error: unknown): boolean => error instanceof Fault && error.code === 'agent/not-running'

const dialFault = (host: string, address: string, detail: string) =>
  new Fault('host/unreachable', 'transient', { host, address, detail })

function sigterm(pid: number): boolean {
  try {
    return pid > 1 && process.kill(pid, 'SIGTERM')
  } catch {
    return false
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
