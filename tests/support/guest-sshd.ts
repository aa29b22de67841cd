import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

export interface GuestTrust {
  /** Private host key, as OpenSSH writes it. */
  hostKey: string
  /** Certificate line of it; absent = none. */
  hostCertificate?: string
  /** Authorized-key lines of the user CAs. */
  userCas: readonly string[]
  /** Revocation list; absent = the configuration names none. */
  krl?: Uint8Array
}

export interface GuestSshd extends AsyncDisposable {
  readonly port: number
  /** What it logged since its last start. */
  log(): string
  /** Replaces the list by rename, as a guest gets it: good from the next login on. */
  revoke(krl: Uint8Array): void
  /** Ends it and starts another guest on the same address and port. */
  become(trust: GuestTrust): Promise<void>
}

/** A real sshd as a guest of the fleet has it: no key of any person is authorized, certificates alone open it. */
export async function startGuestSshd(trust: GuestTrust): Promise<GuestSshd> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-guest-'))
  fs.mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
  const port = await freePort()
  const at = (name: string) => path.join(dir, name)
  let log = ''
  const start = async (now: GuestTrust) => {
    log = ''
    fs.writeFileSync(at('host_key'), now.hostKey, { mode: 0o600 })
    fs.writeFileSync(at('ca.pub'), now.userCas.map((line) => `${line}\n`).join(''))
    if (now.hostCertificate) fs.writeFileSync(at('host_key-cert.pub'), `${now.hostCertificate}\n`)
    if (now.krl) fs.writeFileSync(at('krl'), now.krl)
    fs.writeFileSync(at('config'), config(at, port, now).join('\n'))
    const child = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', at('config')], { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.setEncoding('utf8')
    while (!log.includes('Server listening')) {
      const [chunk] = await Promise.race([once(child.stderr, 'data'), once(child, 'exit').then(() => [undefined])])
      if (chunk === undefined) throw new Error(`sshd did not start: ${log}`)
      log += String(chunk)
    }
    child.stderr.on('data', (chunk) => (log += String(chunk)))
    return child
  }
  let child = await start(trust)
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    port,
    log: () => log,
    revoke(krl) {
      fs.writeFileSync(at('krl.new'), krl)
      fs.renameSync(at('krl.new'), at('krl'))
    },
    async become(next) {
      await stop()
      child = await start(next)
    },
    async [Symbol.asyncDispose]() {
      await stop()
      fs.rmSync(dir, { recursive: true, force: true })
    },
  }
}

const config = (at: (name: string) => string, port: number, { hostCertificate, krl }: GuestTrust): string[] => [
  `Port ${port}`,
  'ListenAddress 127.0.0.1',
  `HostKey ${at('host_key')}`,
  ...(hostCertificate ? [`HostCertificate ${at('host_key-cert.pub')}`] : []),
  `TrustedUserCAKeys ${at('ca.pub')}`,
  ...(krl ? [`RevokedKeys ${at('krl')}`] : []),
  'AuthorizedKeysFile none',
  'PasswordAuthentication no',
  'KbdInteractiveAuthentication no',
  'PermitRootLogin prohibit-password',
  'PidFile none',
  'UsePAM no',
  'StrictModes no',
  'LogLevel VERBOSE',
  '',
]

export interface SshCall {
  port: number
  /** Private key file, and the certificate beside it or elsewhere. */
  key: string
  certificate?: string
  knownHosts: readonly string[]
  /** The name the host key has to be for. */
  alias: string
  user?: string
  options?: readonly string[]
  command?: readonly string[]
}

/** The real ssh, which asks nobody anything; what it ended with. */
export async function ssh(dir: string, call: SshCall): Promise<{ code: number; out: string; err: string }> {
  const known = path.join(dir, 'known_hosts')
  fs.writeFileSync(known, call.knownHosts.map((line) => `${line}\n`).join(''))
  const set = [
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'StrictHostKeyChecking=yes',
    'GlobalKnownHostsFile=none',
    `UserKnownHostsFile=${known}`,
    `HostKeyAlias=${call.alias}`,
    ...(call.certificate ? [`CertificateFile=${call.certificate}`] : []),
    ...(call.options ?? []),
  ]
  const args = ['-F', 'none', ...set.flatMap((option) => ['-o', option]), '-i', call.key, '-p', String(call.port)]
  const target = [`${call.user ?? 'root'}@127.0.0.1`, ...(call.command ?? ['true'])]
  return await new Promise((resolve) => {
    const child = execFile('ssh', [...args, ...target], { timeout: 20_000 }, (error, out, err) => {
      resolve({ code: error ? ((error.code as number | undefined) ?? 255) : 0, out: String(out), err: String(err) })
    })
    child.stdin?.end()
  })
}

/** A new key pair in files of OpenSSH: the private one, and the line of the public one. */
export function newKeyFiles(dir: string, name: string, type = 'ed25519', bits?: string) {
  const file = path.join(dir, name)
  execFileSync('ssh-keygen', ['-q', '-t', type, ...(bits ? ['-b', bits] : []), '-N', '', '-C', name, '-f', file])
  const line = fs.readFileSync(`${file}.pub`, 'utf8').trim().split(' ').slice(0, 2).join(' ')
  return { file, line, privateKey: fs.readFileSync(file, 'utf8') }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}
