import type { TerminalSize } from '../../../ipc/console-frames.ts'
import { faultText } from '../../../ipc/fault-text.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { ActiveSession } from '../hosts/agent-connection.ts'
import { openCommand } from '../hosts/ssh/open-command.ts'
import type { Shell } from './shell.ts'
import { exitWords, loginShell } from './shell-command.ts'

interface HostShellParts {
  session: ActiveSession | undefined
  /** Name of the host. */
  host: string
  size: TerminalSize
  /** Gives up while the host has not answered; a shell that is open is ended by its channel. */
  signal: AbortSignal
}

/** How long the end of a channel waits for the connection to say why. */
const WHY_MS = 1_000

/**
 * A shell on a host over the sign-in its link has. It takes one of the sessions the host's sshd allows that connection.
 * Raises host/no-answer, console/unavailable, ssh/sessions-refused, ssh/no-shell.
 */
export async function openHostShell({ session, host, size, signal }: HostShellParts): Promise<Shell> {
  if (!session) throw new Fault('host/no-answer', 'transient', { host })
  const { connection } = session
  const exec = connection.exec?.bind(connection)
  if (!exec) throw new Fault('console/unavailable', 'permanent', { vm: host, detail: NO_SSH })
  const told = connection.sshClient === 'ssh2'
  const channel = await openCommand({ exec }, loginShell(told ? undefined : size), signal, { pty: size, lasting: true })
  channel.on('error', () => {})
  channel.stderr.resume()
  const ended = new Promise<string>((resolve) => {
    let status: number | null | undefined
    channel.on('exit', (code: number | null) => {
      status = code
    })
    channel.on('close', () => {
      if (status !== undefined) resolve(exitWords(status))
      else if (channel.lost) resolve(wordsOf(channel.lost))
      else void Promise.race([connection.closed.then(wordsOf), late()]).then(resolve)
    })
  })
  return { channel, title: host, ended, ...(channel.resize ? { resize: channel.resize } : {}) }
}

const NO_SSH = 'its link is not over SSH, or its login runs the agent alone'
const wordsOf = (fault: Fault): string => faultText(fault.code, fault.params).what
const late = () => new Promise<string>((resolve) => setTimeout(() => resolve('its connection was cut'), WHY_MS))
