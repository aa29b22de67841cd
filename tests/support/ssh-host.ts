import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { startTimeOf } from './exclusive.ts'
import { type HostSlot, takeSlot } from './host-slots.ts'
import { mustRun, type ProgramOptions, type ProgramResult, runProgram } from './run-program.ts'

const REPO = path.resolve(import.meta.dirname, '../..')
const PARTS = path.join(import.meta.dirname, 'host')
const READY_TIMEOUT_MS = 15_000
const END_TIMEOUT_MS = 5_000
const HOST_KEY = '/etc/ssh/rig_host_key'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Variants differ only in sshd's options: host/sshd-<variant>.conf. On a "managed" one agents own the host's network. */
export type SshVariant = 'default' | 'managed' | 'no-streamlocal' | 'rekey' | 'password-only'

export interface HostProcess {
  /** As this side sees it. */
  pid: number
  /** As the host sees it. */
  hostPid: number
  argv: string[]
}

export interface HostExecOptions extends ProgramOptions {
  /** Login name; absent = root. */
  user?: string
}

/** Another machine as far as Linux can tell. `close` leaves nothing of it. */
export interface SshHost extends AsyncDisposable {
  readonly name: string
  readonly address: string
  /** Address of this side on the link between the two. */
  readonly gateway: string
  readonly port: number
  readonly interfaceName: string
  /** First process of the host, as this side sees it. */
  readonly pid: number
  /** SHA256:… of the host key sshd shows now. */
  readonly hostKeyFingerprint: string
  /** Private key every user of the host accepts, unless the variant forbids keys. */
  readonly clientKeyPath: string
  /** `dev` cannot use sudo; `ops` can, with this password. */
  readonly passwords: Readonly<Record<'root' | 'dev' | 'ops', string>>
  exec(argv: string[], options?: HostExecOptions): Promise<ProgramResult>
  /** exec that throws unless the program ends with 0; gives its stdout. */
  must(argv: string[], options?: HostExecOptions): Promise<string>
  /** Whether the path is there in the host's own view of its files. */
  exists(file: string): boolean
  /** The same file seen from this side, for reading: valid while the host lives. */
  outside(file: string): string
  listProcesses(): HostProcess[]
  /** Drops every packet both ways without telling anyone, as a dead network does. */
  dropPackets(drop: boolean): Promise<void>
  replaceHostKey(): Promise<void>
  /** Its sshd anew, with these lines in place of the variant's of the same keywords; from the first `Match` on last. */
  restartSshd(lines: string[]): Promise<void>
  /** What its sshd wrote, as this side sees it. */
  readonly logFile: string
  close(): Promise<void>
}

/** Why no test host can be made here; undefined = it can. */
export function sshHostImpossible(): string | undefined {
  if (process.platform !== 'linux') return 'test hosts need Linux namespaces'
  if (process.getuid?.() !== 0) return 'test hosts need root for namespaces and network links'
  const missing = ['/usr/sbin/sshd', '/usr/bin/unshare', '/usr/bin/nsenter'].filter((f) => !fs.existsSync(f))
  return missing.length > 0 ? `test hosts need ${missing.join(', ')}` : undefined
}

/** Starts a host and waits for its sshd to listen. */
export async function startSshHost(options: { name: string; variant?: SshVariant }): Promise<SshHost> {
  const impossible = sshHostImpossible()
  if (impossible !== undefined) throw new Error(impossible)
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-host-'))
  const slot = takeSlot()
  const passwords = { root: secret(), dev: secret(), ops: secret() }
  let child: ChildProcess | undefined
  try {
    await prepare(dir, passwords)
    const variant = options.variant ?? 'default'
    child = boot(dir, slot, options.name, variant)
    slot.holds(child.pid!, dir)
    await plugIn(child, slot)
    const pid = firstChildOf(child.pid!)
    const host = new NamespaceHost(options.name, variant, dir, slot, child, pid, passwords)
    await host.readFingerprint()
    return host
  } catch (error) {
    if (child) await end(child)
    await clear(dir, slot)
    throw error
  }
}

const secret = () => randomBytes(9).toString('base64url')

async function prepare(dir: string, passwords: Record<string, string>) {
  fs.mkdirSync(path.join(dir, 'root'))
  const key = path.join(dir, 'client_key')
  await mustRun('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', key])
  fs.copyFileSync(`${key}.pub`, path.join(dir, 'authorized_keys'))
  const lines = Object.entries(passwords).map(([user, password]) => `${user}:${password}\n`)
  fs.writeFileSync(path.join(dir, 'passwords'), lines.join(''), { mode: 0o600 })
}

function boot(dir: string, slot: HostSlot, name: string, variant: SshVariant): ChildProcess {
  const namespaces = ['--mount', '--pid', '--uts', '--ipc', '--net', '--fork', '--kill-child']
  const script = path.join(PARTS, 'boot.sh')
  const config = path.join(PARTS, `sshd-${variant}.conf`)
  const args = [dir, name, `${slot.address}/30`, slot.gateway, REPO, config]
  const log = fs.openSync(path.join(dir, 'boot.log'), 'w')
  const child = spawn('unshare', [...namespaces, 'bash', script, ...args], {
    stdio: ['pipe', 'pipe', log],
    env: { PATH, LANG: 'C.UTF-8' },
  })
  fs.closeSync(log)
  child.stdin!.on('error', () => {})
  return child
}

async function plugIn(child: ChildProcess, slot: HostSlot) {
  await untilUnshared(child.pid!)
  await unplug(slot)
  const link = ['link', 'add', slot.interfaceName, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', `${child.pid}`]
  await mustRun('ip', link)
  await mustRun('ip', ['addr', 'add', `${slot.gateway}/30`, 'dev', slot.interfaceName])
  await mustRun('ip', ['link', 'set', slot.interfaceName, 'up'])
  child.stdin!.write('go\n')
  await readyLine(child)
}

/** The kernel takes a dead network apart in its own time; the name must be free at once. */
const unplug = (slot: HostSlot) => runProgram('ip', ['link', 'delete', slot.interfaceName])

const netnsOf = (pid: number | 'self') => fs.readlinkSync(`/proc/${pid}/ns/net`)

async function untilUnshared(pid: number) {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (netnsOf(pid) === netnsOf('self')) {
    if (Date.now() > deadline) throw new Error('the host never got a network of its own')
    await new Promise((r) => setTimeout(r, 2))
  }
}

async function readyLine(child: ChildProcess) {
  const lines = createInterface({ input: child.stdout! })
  try {
    const signal = AbortSignal.timeout(READY_TIMEOUT_MS)
    const ended = once(child, 'exit', { signal }).then(() => 'ended')
    const line = await Promise.race([once(lines, 'line', { signal }).then(([l]) => String(l)), ended])
    if (line !== 'ready') throw new Error(`the host did not start: ${line}`)
  } catch (cause) {
    const log = child.spawnargs.find((a) => a.includes('eitri-host-')) ?? ''
    throw new Error(`test host: ${fs.readFileSync(path.join(log, 'boot.log'), 'utf8')}`, { cause })
  } finally {
    lines.close()
  }
}

function firstChildOf(pid: number): number {
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  const [first] = children.split(' ')
  if (!first) throw new Error('the host ended at once')
  return Number(first)
}

/** Its first process ends when its stdin does; the kernel then ends the rest before unshare can exit. */
async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.stdin!.end()
  const timer = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS)
  await gone
  clearTimeout(timer)
}

async function clear(dir: string, slot: HostSlot) {
  await unplug(slot)
  fs.rmSync(dir, { recursive: true, force: true })
  slot.release()
}

class NamespaceHost implements SshHost {
  readonly name: string
  readonly address: string
  readonly gateway: string
  readonly port = 22
  readonly interfaceName: string
  readonly pid: number
  readonly clientKeyPath: string
  readonly passwords: SshHost['passwords']
  hostKeyFingerprint = ''
  readonly #variant: SshVariant
  readonly #dir: string
  readonly #slot: HostSlot
  readonly #child: ChildProcess
  #closed: Promise<void> | undefined

  constructor(
    name: string,
    variant: SshVariant,
    dir: string,
    slot: HostSlot,
    child: ChildProcess,
    pid: number,
    passwords: SshHost['passwords'],
  ) {
    this.name = name
    this.address = slot.address
    this.gateway = slot.gateway
    this.interfaceName = slot.interfaceName
    this.pid = pid
    this.clientKeyPath = path.join(dir, 'client_key')
    this.passwords = passwords
    this.#variant = variant
    this.#dir = dir
    this.#slot = slot
    this.#child = child
  }

  exec(argv: string[], options: HostExecOptions = {}): Promise<ProgramResult> {
    const { user = 'root', ...rest } = options
    const enter = ['-t', `${this.pid}`, '-m', '-u', '-i', '-n', '-p', '-r', '-w', '--']
    const become =
      user === 'root' ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--reset-env']
    const guests = { EITRI_GUEST_NETWORK: 'user' }
    const env = { PATH, HOME: '/root', USER: 'root', LANG: 'C.UTF-8', ...guests, ...options.env }
    return runProgram('nsenter', [...enter, ...become, ...argv], { ...rest, env })
  }

  async must(argv: string[], options: HostExecOptions = {}): Promise<string> {
    const result = await this.exec(argv, options)
    if (result.code === 0) return result.stdout
    throw new Error(`on ${this.name}: ${argv.join(' ')} ended with ${result.code}: ${result.stderr || result.stdout}`)
  }

  outside(file: string): string {
    return `/proc/${this.pid}/root${path.posix.resolve('/', file)}`
  }

  exists(file: string): boolean {
    return fs.existsSync(this.outside(file))
  }

  listProcesses(): HostProcess[] {
    const mine = fs.readlinkSync(`/proc/${this.pid}/ns/pid`)
    return fs
      .readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .flatMap((entry) => processIn(mine, Number(entry)))
  }

  async dropPackets(drop: boolean) {
    await this.exec(['nft', 'delete', 'table', 'inet', 'rig'])
    if (!drop) return
    const rules = `table inet rig {
      chain in { type filter hook input priority -300; iifname "eth0" drop; }
      chain out { type filter hook output priority -300; oifname "eth0" drop; }
    }`
    await this.must(['nft', '-f', '-'], { input: rules })
  }

  get logFile() {
    return this.outside('/run/sshd.log')
  }

  async replaceHostKey() {
    await this.must(['rm', '-f', HOST_KEY, `${HOST_KEY}.pub`])
    await this.must(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', HOST_KEY])
    await this.#startSshdAnew(`/run/sshd-${this.#variant}.conf`)
    await this.readFingerprint()
  }

  async restartSshd(lines: string[]) {
    const named = new Set(lines.map((line) => line.split(' ')[0]))
    // Ports and host keys add up in sshd.
    const variant = fs
      .readFileSync(path.join(PARTS, `sshd-${this.#variant}.conf`), 'utf8')
      .split('\n')
      .filter((line) => !named.has(line.split(' ')[0] ?? ''))
    const from = lines.findIndex((line) => /^match\b/i.test(line))
    const [before, after] = from < 0 ? [lines, []] : [lines.slice(0, from), lines.slice(from)]
    const text = `${[...before, ...variant, ...after].join('\n')}\n`
    await this.must(['sh', '-c', 'cat >/run/sshd-changed.conf'], { input: text })
    await this.#startSshdAnew('/run/sshd-changed.conf')
  }

  async #startSshdAnew(config: string) {
    const running = (await this.must(['cat', '/run/sshd.pid'])).trim()
    await this.must(['kill', running])
    const gone = ['timeout', '5', 'sh', '-c', `while kill -0 ${running} 2>/dev/null; do sleep 0.02; done`]
    await this.must(gone)
    await this.must(['/usr/sbin/sshd', '-f', config, '-E', '/run/sshd.log'])
    // It says so once it has written its pid and listens.
    await this.must(['timeout', '5', 'sh', '-c', 'until [ -s /run/sshd.pid ]; do sleep 0.02; done'])
  }

  async readFingerprint() {
    const line = await this.must(['ssh-keygen', '-l', '-f', `${HOST_KEY}.pub`])
    this.hostKeyFingerprint = line.split(' ')[1] ?? ''
  }

  close(): Promise<void> {
    this.#closed ??= end(this.#child).then(() => clear(this.#dir, this.#slot))
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

function processIn(namespace: string, pid: number): HostProcess[] {
  try {
    if (fs.readlinkSync(`/proc/${pid}/ns/pid`) !== namespace || startTimeOf(pid) === undefined) return []
    const inner = /^NSpid:.*\s(\d+)$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    const argv = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    return [{ pid, hostPid: Number(inner), argv }]
  } catch {
    return []
  }
}
