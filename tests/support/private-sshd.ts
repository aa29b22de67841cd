import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { fingerprintOf } from '../../src/main/control/hosts/ssh/host-keys.ts'

const LISTEN_TIMEOUT_MS = 10_000

export interface PrivateSshd extends AsyncDisposable {
  readonly dir: string
  readonly port: number
  readonly user: string
  /** Private key it accepts, without a passphrase. */
  readonly keyFile: string
  /** Public half of its host key: the blob, and as OpenSSH prints it. */
  readonly hostKey: { type: string; blob: Buffer; fingerprint: string }
  /** What it wrote. */
  readonly logFile: string
  /** Processes serving connections now. */
  sessions(): number[]
  /** Ends its sessions and listens again with another host key, as a host that was rebuilt. */
  replaceHostKey(): Promise<void>
  close(): Promise<void>
}

/** Why no private sshd can run here; undefined = one can. */
export function privateSshdImpossible(): string | undefined {
  if (process.getuid?.() !== 0) return 'a private sshd needs root to make its folder'
  return fs.existsSync('/usr/sbin/sshd') ? undefined : 'there is no /usr/sbin/sshd'
}

/** A real sshd on 127.0.0.1 with keys and configuration of its own; it lets this user in by `keyFile` alone. */
export async function startPrivateSshd(options: string[] = [], port?: number): Promise<PrivateSshd> {
  fs.mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-sshd-'))
  const keygen = (name: string, type = 'ed25519') => {
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', '', '-f', path.join(dir, name)])
    return path.join(dir, name)
  }
  const hostKeyFile = keygen('host_key')
  const keyFile = keygen('id')
  fs.copyFileSync(`${keyFile}.pub`, path.join(dir, 'authorized_keys'))
  const chosen = port ?? (await freePort())
  const config = [
    `Port ${chosen}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${hostKeyFile}`,
    `AuthorizedKeysFile ${path.join(dir, 'authorized_keys')}`,
    'PidFile none',
    'UsePAM no',
    'StrictModes no',
    'PermitRootLogin yes',
    'PrintMotd no',
    // Not the person's own: what their shell does at its start may take seconds.
    `SetEnv EITRI_GUEST_NETWORK=user HOME=${dir}`,
    ...(options.some((option) => option.startsWith('Subsystem')) ? [] : ['Subsystem sftp internal-sftp']),
    ...options,
  ]
  fs.writeFileSync(path.join(dir, 'sshd_config'), `${config.join('\n')}\n`)
  const logFile = path.join(dir, 'sshd.log')
  const start = async () => {
    const log = fs.openSync(logFile, 'a')
    const from = fs.fstatSync(log).size
    const child = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', path.join(dir, 'sshd_config')], {
      stdio: ['ignore', 'ignore', log],
    })
    fs.closeSync(log)
    await listening(child, logFile, from)
    return child
  }
  let child = await start()
  const readKey = () => {
    const blob = Buffer.from(fs.readFileSync(`${hostKeyFile}.pub`, 'utf8').split(' ')[1] ?? '', 'base64')
    return { type: 'ssh-ed25519', blob, fingerprint: fingerprintOf(blob) }
  }
  let hostKey = readKey()
  const sessions = () => childrenOf(child.pid!)
  const stop = async () => {
    const ended = child.exitCode === null ? once(child, 'exit') : undefined
    for (const pid of sessions().flatMap((pid) => [pid, ...childrenOf(pid)])) kill(pid)
    child.kill('SIGKILL')
    await ended
  }
  const close = async () => {
    await stop()
    fs.rmSync(dir, { recursive: true, force: true })
  }
  return {
    dir,
    port: chosen,
    user: os.userInfo().username,
    keyFile,
    get hostKey() {
      return hostKey
    },
    logFile,
    sessions,
    async replaceHostKey() {
      await stop()
      for (const file of [hostKeyFile, `${hostKeyFile}.pub`]) fs.rmSync(file)
      keygen('host_key')
      hostKey = readKey()
      child = await start()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function listening(child: ChildProcess, logFile: string, from: number): Promise<void> {
  const said = () => fs.readFileSync(logFile, 'utf8').slice(from)
  const watcher = fs.watch(logFile)
  try {
    while (!said().includes('Server listening')) {
      if (child.exitCode !== null) throw new Error(`sshd did not start: ${said()}`)
      const signal = AbortSignal.timeout(LISTEN_TIMEOUT_MS)
      await Promise.race([once(watcher, 'change', { signal }), once(child, 'exit', { signal })])
    }
  } finally {
    watcher.close()
  }
}

/** Children by /proc, oldest first. */
export function childrenOf(pid: number): number[] {
  try {
    return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}
