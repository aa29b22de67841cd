import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from '../../../ipc/console-frames.ts'
import { Fault } from '../../../ipc/faults.ts'
import { KiB } from '../../../ipc/units.ts'
import { ProcessChannel } from '../hosts/openssh/process-channel.ts'
import type { GuestLogin } from '../tunnels/guest-login.ts'
import type { Shell } from './shell.ts'
import { exitWords, guestSshArguments, lastWord, loginShell } from './shell-command.ts'

const SSH_FAILED = 255
const SAID_BYTES = 4 * KiB
/** Names of the environment that the system's ssh is started with. */
const KEPT = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'SYSTEMROOT']

interface GuestShellParts {
  /** Closed with the shell. */
  login: GuestLogin
  vm: string
  size: TerminalSize
  env: Readonly<Record<string, string | undefined>>
  /** Gives up while it begins. */
  signal: AbortSignal
}

/**
 * A shell in a guest by the system's ssh and the fleet's certificate. Without a terminal of its own on this computer its
 * size is told once, as it begins. Raises app/part-missing where there is no ssh.
 */
export async function openGuestShell({ login, vm, size, env, signal }: GuestShellParts): Promise<Shell> {
  const args = guestSshArguments({ ...login, node: process.execPath, command: loginShell(size) })
  const kept = Object.fromEntries(KEPT.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
  const child = spawn('ssh', args, { env: { ...kept, TERM: 'xterm-256color' }, stdio: ['pipe', 'pipe', 'pipe'] })
  await begun(child).catch((error: unknown) => {
    login.close()
    throw new Fault('app/part-missing', 'permanent', { part: 'ssh (the OpenSSH client)' }, { cause: error })
  })
  if (signal.aborted) {
    child.kill()
    login.close()
    throw signal.reason
  }
  let said = ''
  const status = Promise.withResolvers<number>()
  const channel = new ProcessChannel(child, async (code) => {
    status.resolve(code)
    return { status: code }
  })
  channel.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-SAID_BYTES)
  })
  channel.on('error', () => {})
  channel.on('close', () => status.resolve(SSH_FAILED))
  const ended = status.promise.then((code) => {
    login.close()
    return code === SSH_FAILED ? login.why() || lastWord(said) || 'its connection was cut' : exitWords(code)
  })
  return { channel, title: `${login.login}@${vm}`, ended }
}

const begun = (child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
