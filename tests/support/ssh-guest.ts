import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { Places, PORT_LIMITS } from '../../src/agent/exposures/limits.ts'
import { trustAnswer, trustScript } from '../../src/agent/guest/trust-script.ts'
import { runForward } from '../../src/agent/rpc/forward-handler.ts'
import { fleetPayload } from '../../src/agent/seed/fleet-payload.ts'
import { generateHostKey, type HostKey } from '../../src/agent/seed/host-key.ts'
import { revokedList } from '../../src/agent/seed/ssh-trust.ts'
import { toConnectError } from '../../src/ipc/fault-wire.ts'
import { Fault } from '../../src/ipc/faults.ts'
import type { VmRowSchema, VmSpec } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { GuestRoot } from './guest-root.ts'
import { freePort, until } from './ports-rig.ts'
import { type ProgramOptions, type ProgramResult, runProgram } from './run-program.ts'
import { ScriptedHost } from './scripted-host.ts'

const CLI = join(import.meta.dirname, '../../src/main/cli/index.ts')
const RUN_MS = 60_000

/**
 * A real sshd that stands for a guest: what the fleet's seed puts there is put there by its own script, and what a running
 * guest is brought by the one the agent has run in it.
 */
export class SshGuest implements AsyncDisposable {
  readonly hostKey: HostKey = generateHostKey('web')
  readonly root = new GuestRoot()
  readonly port: number
  #child: ChildProcess | undefined
  #said = ''

  private constructor(port: number) {
    this.port = port
  }

  /** Listens nowhere yet: a guest does not boot before it has its certificate. */
  static async make(port?: number): Promise<SshGuest> {
    return new SshGuest(port ?? (await freePort()))
  }

  /** Its first boot, by what its host was told of it. */
  async boot(spec: VmSpec, revoked: Uint8Array, hostKey = this.hostKey): Promise<void> {
    mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
    const ssh = {
      userCas: spec.sshUserCaAuthorizedKeys,
      hostKey: { ...hostKey, certificate: spec.sshHostCert },
      revoked,
    }
    this.root.run(fleetPayload({ vmId: spec.vmId, clock: 'none', ssh }))
    // What cloud-init does with the other part.
    const key = join(this.root.root, 'etc/ssh/ssh_host_ed25519_key')
    writeFileSync(key, hostKey.privateKey, { mode: 0o600 })
    writeFileSync(`${key}-cert.pub`, `${spec.sshHostCert}\n`)
    const config = [
      `Include ${this.root.root}/etc/ssh/sshd_config.d/*.conf`,
      ...['ListenAddress 127.0.0.1', `Port ${this.port}`, `HostKey ${key}`, 'AuthorizedKeysFile none'],
      ...['UsePAM no', 'StrictModes no', 'PidFile none', 'PermitRootLogin yes', 'PasswordAuthentication no'],
      ...['KbdInteractiveAuthentication no', 'Subsystem sftp internal-sftp', 'MaxStartups 100', 'LogLevel VERBOSE'],
    ]
    this.root.write('etc/ssh/sshd_config', `${config.join('\n')}\n`)
    await this.#start()
  }

  /** What its host brings it while it runs. */
  bring(spec: VmSpec, revoked: Uint8Array): ReturnType<typeof trustAnswer> {
    this.root.program('systemctl', `kill -HUP ${this.#child?.pid}`)
    const { sshUserCaAuthorizedKeys: userCas, sshHostCert: hostCertificate } = spec
    return trustAnswer(this.root.run(trustScript({ userCas, hostCertificate, revoked: revokedList(revoked) })))
  }

  /** What its sshd has logged. */
  get log(): string {
    return this.#said
  }

  async stop(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (!child || child.exitCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }

  async #start(): Promise<void> {
    await this.stop()
    const args = ['-D', '-e', '-f', join(this.root.root, 'etc/ssh/sshd_config')]
    const child = spawn('/usr/sbin/sshd', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    this.#child = child
    const from = this.#said.length
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#said += text
    })
    await until(
      () => (this.#said.includes('Server listening', from) ? true : undefined),
      () => this.#said,
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    this.root[Symbol.dispose]()
  }
}

/** A fleet whose one host leads to guests that are real sshds, and a person with a home of their own. */
export class SshFleet implements AsyncDisposable {
  readonly rack: ScriptedHost
  readonly home = mkdtempSync(join(tmpdir(), 'eitri-home-'))
  /** By VM id; where the address of a VM leads now. */
  readonly guests = new Map<string, SshGuest>()
  readonly #rows = new Map<string, MessageInitShape<typeof VmRowSchema>>()
  /** A host that says nothing is taken for gone. */
  readonly #reports = setInterval(() => this.rack.agent.report({ vms: [...this.#rows.values()] }), 3_000)

  private constructor(rack: ScriptedHost) {
    this.rack = rack
    mkdirSync(join(this.home, '.ssh'), { mode: 0o700 })
    const sessions = { require: () => ({ signal: new AbortController().signal }) }
    const target = async (vmId: string) => {
      const guest = this.guests.get(vmId)
      if (!guest) throw new Fault('port/no-way', 'transient', { vm: vmId, detail: 'it is not running' })
      return { host: '127.0.0.1', port: guest.port }
    }
    const open = new Places(64)
    const parts = { reach: { target, limits: PORT_LIMITS }, sessions: sessions as never, open }
    rack.agent.forward = async function* (requests, { signal }) {
      try {
        yield* runForward(parts, requests, signal)
      } catch (error) {
        throw toConnectError(error)
      }
    }
  }

  static async open(): Promise<SshFleet> {
    return new SshFleet(await ScriptedHost.open())
  }

  /** The spec of a VM as its host was told last, once it is as wanted. */
  async spec(vmId: string, want: (spec: VmSpec) => boolean = () => true): Promise<VmSpec> {
    const find = () => this.state?.vms.find((spec) => spec.vmId === vmId && want(spec))
    return await until(find, () => `spec of ${vmId}: ${this.rack.agent.snapshots.length} snapshots`)
  }

  get state() {
    return this.rack.agent.snapshots.at(-1)?.state
  }

  /** A VM whose guest is up; its host key was made and certified before. */
  async up(name: string, port?: number): Promise<{ vmId: string; guest: SshGuest }> {
    const vmId = await this.rack.vm(name)
    const guest = await SshGuest.make(port)
    const waits = await this.spec(vmId)
    if (!waits.hostCertRequired || waits.sshHostCert !== '')
      throw new Error('it is not told to wait for its certificate')
    this.report(vmId, guest, 'creating')
    await guest.boot(
      await this.spec(vmId, ({ sshHostCert }) => sshHostCert !== ''),
      this.state?.sshKrl ?? new Uint8Array(),
    )
    this.report(vmId, guest, 'ready')
    this.guests.set(vmId, guest)
    return { vmId, guest }
  }

  report(vmId: string, { hostKey }: SshGuest, phase: 'creating' | 'ready'): void {
    const power = phase === 'ready' ? 'running' : 'stopped'
    this.#rows.set(vmId, { vmId, power, phase, hostPublicKey: hostKey.publicKey })
    this.rack.agent.report({ vms: [...this.#rows.values()] })
  }

  /** `eitri`, as a process of its own with the person's home. */
  eitri(args: string[], options: ProgramOptions = {}): Promise<ProgramResult> {
    return this.run([process.execPath, CLI, '--data-dir', this.rack.dataDir, ...args], options)
  }

  /** A program of the person's computer: their home is where OpenSSH looks for it, which is not in the environment. */
  run(argv: string[], options: ProgramOptions = {}): Promise<ProgramResult> {
    const inHome = `mount --bind ${this.home} /root && cd / && exec "$@"`
    const { PATH = '' } = process.env
    const env = { PATH, HOME: '/root', TMPDIR: '/tmp', LANG: 'C.UTF-8' }
    const args = ['--mount', '--propagation', 'private', 'bash', '-c', inHome, '-', ...argv]
    return runProgram('unshare', args, { timeoutMs: RUN_MS, env, ...options })
  }

  /** A file of the person's ~/.ssh. */
  ssh(name: string): string {
    return readFileSync(join(this.home, '.ssh', name), 'utf8')
  }

  keygen(...args: string[]): void {
    execFileSync('ssh-keygen', ['-q', ...args], { cwd: this.home })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#reports)
    for (const guest of this.guests.values()) await guest[Symbol.asyncDispose]()
    await this.rack[Symbol.asyncDispose]()
    rmSync(this.home, { recursive: true, force: true })
  }
}
