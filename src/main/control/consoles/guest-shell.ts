import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from '../../../ipc/console-frames.ts'
import { Fault } from '../../../ipc/faults.ts'
import { KiB } from '../../../ipc/units.ts'
import { ProcessChannel } from '../hosts/openssh/process-channel.ts'
import type { GuestLogin } from '../tunnels/guest-login.ts'
import type { Shell } from './shell.ts'
import { exitWords, guestSshArguments, joinedSshArguments, lastWord, loginShell, sizeCommand } from './shell-command.ts'

const SSH_FAILED = 255
const SAID_BYTES = 4 * KiB
const TELL_MS = 10_000
/** Longest path of a socket, and what ssh puts behind it while it makes one. */
const SOCKET_CHARS = 104
const CONTROL_SUFFIX_CHARS = 18
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
 * size is told as it begins, and later by a second session of the same connection. Raises app/part-missing where there is
 * no ssh.
 */
export async function openGuestShell({ login, vm, size, env, signal }: GuestShellParts): Promise<Shell> {
  const control = `${login.socket}m`
  const joins = control.length + CONTROL_SUFFIX_CHARS < SOCKET_CHARS
  const node = process.execPath
  const args = guestSshArguments({ ...login, node, command: loginShell(size), control: joins ? control : undefined })
  const kept = Object.fromEntries(KEPT.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
  const sshEnv = { ...kept, TERM: 'xterm-256color' }
  const child = spawn('ssh', args, { env: sshEnv, stdio: ['pipe', 'pipe', 'pipe'] })
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
    void rm(control, { force: true })
    return code === SSH_FAILED ? login.why() || lastWord(said) || 'its connection was cut' : exitWords(code)
  })
  const tell = (to: TerminalSize) => toldSize(joinedSshArguments({ ...login, control }, sizeCommand(to)), sshEnv)
  return { channel, title: `${login.login}@${vm}`, ended, ...(joins ? { resize: follow(size, tell) } : {}) }
}

/** One telling at a time, and of sizes that came meanwhile the last alone. */
function follow(first: TerminalSize, tell: (size: TerminalSize) => Promise<void>): (size: TerminalSize) => void {
  let [told, wanted] = [first, first]
  let isTelling = false
  return (size) => {
    wanted = size
    if (isTelling) return
    isTelling = true
    void (async () => {
      while (told.rows !== wanted.rows || told.cols !== wanted.cols) {
        told = wanted
        await tell(told)
      }
      isTelling = false
    })()
  }
}

/** A guest that cannot be told keeps the size it has; never rejects. */
const toldSize = (args: string[], env: NodeJS.ProcessEnv): Promise<void> =>
  new Promise((resolve) => {
    const child = spawn('ssh', args, { env, stdio: 'ignore', timeout: TELL_MS })
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })

const begun = (child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
