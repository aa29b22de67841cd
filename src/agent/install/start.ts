import { systemClock } from '../../ipc/base/clock.ts'
import { Fault } from '../../ipc/faults.ts'
import type { GetStatusResponse } from '../../ipc/gen/eitri/agent/v1/host_pb.js'
import { detach } from '../os/exec.ts'
import { ensureDir, readTail, sizeIfPresent } from '../os/files.ts'
import { linuxProcesses, type ProcessIdentity } from '../os/process.ts'
import { requireUsable } from '../records/identity.ts'
import { agentLayout } from '../records/layout.ts'
import { type AgentStatus, askStatus } from '../status/agent-status.ts'

/** How the agent is run, and where. */
export interface StartCommand {
  /** Program and leading arguments; `serve …` is added. */
  command: readonly string[]
  stateDir: string
  socket: string
}

/** A cold executable on a slow disk is in it. */
const ANSWER_DEADLINE_MS = 30_000
const STOP_DEADLINE_MS = 20_000
const KILL_DEADLINE_MS = 5_000
const LOOK_EVERY_MS = 150

/**
 * Starts the agent in a session of its own, so that it outlives whoever started it; does nothing when one answers.
 * Resolves with its status. Raises agent/identity-damaged, and agent/install-failed with the end of its log.
 */
export async function startDetached(start: StartCommand): Promise<GetStatusResponse> {
  const before = await askStatus(start.socket)
  if (before.running) return before.status
  const { identity, log: logFile } = agentLayout(start.stateDir)
  await requireUsable(identity)
  await ensureDir('start.dir', start.stateDir)
  const said = (await sizeIfPresent(logFile)) ?? 0
  const [program, ...args] = [...start.command, 'serve', '--state-dir', start.stateDir, '--socket', start.socket]
  const pid = await detach('agent.spawn', program!, args, { cwd: '/', logFile, keepLog: true })
  return await waitForAgent(
    start.socket,
    () => true,
    async () => {
      if (linuxProcesses().identify(pid)) return undefined
      return (await lastLine(logFile, said)) || 'it ended at once'
    },
  )
}

/** Waits until an agent that is the wanted one answers. `died` says why it never will. */
export async function waitForAgent(
  socket: string,
  wanted: (status: GetStatusResponse) => boolean,
  died: () => Promise<string | undefined> = async () => undefined,
): Promise<GetStatusResponse> {
  const deadline = performance.now() + ANSWER_DEADLINE_MS
  for (let last: AgentStatus | undefined; ; ) {
    last = await askStatus(socket)
    if (last.running && wanted(last.status)) return last.status
    const why = last.running ? undefined : await died()
    if (why !== undefined) throw failed(`the agent does not start: ${why}`)
    if (performance.now() > deadline) throw failed(notInTime(last))
    await systemClock.sleep(LOOK_EVERY_MS)
  }
}

/** Ends the agent that listens on the socket and waits until it is gone; its VMs run on. False when none listens. */
export async function stopAgent(socket: string): Promise<boolean> {
  const answer = await askStatus(socket)
  if (!answer.running) return false
  const identity = linuxProcesses().identify(answer.status.pid)
  if (!identity) return false
  await endAgent(identity, STOP_DEADLINE_MS)
  return true
}

/** Asks this very process to end, and after `graceMs` ends it; resolves once it is gone. Raises agent/install-failed when it stays. */
export async function endAgent(identity: ProcessIdentity, graceMs: number): Promise<void> {
  const processes = linuxProcesses()
  let deadline = performance.now() + graceMs
  for (let signal: NodeJS.Signals = 'SIGTERM'; processes.alive(identity); await systemClock.sleep(LOOK_EVERY_MS)) {
    if (signal === 'SIGTERM') processes.signal('agent.terminate', identity, signal)
    if (performance.now() <= deadline) continue
    if (signal === 'SIGKILL') throw failed(`the agent with pid ${identity.pid} does not end`)
    processes.signal('agent.kill', identity, 'SIGKILL')
    signal = 'SIGKILL'
    deadline = performance.now() + KILL_DEADLINE_MS
  }
}

const failed = (message: string) => new Fault('agent/install-failed', 'transient', { message })

const notInTime = (last: AgentStatus): string =>
  last.running
    ? `agent ${last.status.agentVersion} of another build (${last.status.agentDigest.slice(0, 12)}) still answers`
    : `no agent answered within ${ANSWER_DEADLINE_MS / 1000} s`

/** What was said last, after so many bytes that were there before; a log that was cut meanwhile is all new. */
async function lastLine(log: string, before: number): Promise<string> {
  const size = (await sizeIfPresent(log)) ?? 0
  const fresh = size < before ? size : size - before
  const tail = await readTail(log, Math.min(fresh, 2_000))
  return tail.toString('utf8').trim().split('\n').at(-1) ?? ''
}
