import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmRow, type VmSpec, VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { AgentProcess, Session } from './agent-process.ts'
import { debianImage } from './debian-image.ts'
import { NetNamespace } from './net-namespace.ts'
import type { ProgramResult } from './run-program.ts'

/** Under emulation a boot takes half a minute with the machine to itself, and minutes without. */
export const BOOT_TIMEOUT_MS = 300_000
const REPORT_TIMEOUT_MS = 60_000
const SSH_TIMEOUT_MS = 60_000
/** Of cloud-init, the last thing it says. */
const SETTLED = /Cloud-init v\. \S+ finished/

/** A real agent, with a network of its own, that has the Debian image; it and its guests end with it. */
export class DebianHost implements AsyncDisposable {
  readonly namespace: NetNamespace
  readonly agent: AgentProcess
  session: Session
  /** For keys and known hosts; `login` is a key the guests may be given. */
  readonly dir = mkdtempSync(join(tmpdir(), 'eitri-debian-'))
  #epoch = 0n
  readonly #imageSha256: string

  private constructor(namespace: NetNamespace, agent: AgentProcess, session: Session, imageSha256: string) {
    this.namespace = namespace
    this.agent = agent
    this.session = session
    this.#imageSha256 = imageSha256
    this.keygen('-t', 'ed25519', '-N', '', '-C', 'login', '-f', 'login')
  }

  static async start(): Promise<DebianHost> {
    const image = await debianImage()
    const namespace = await NetNamespace.make()
    const agent = new AgentProcess({ namespace, flags: ['--bridge-cidr', '10.200.0.0/24'] })
    try {
      await agent.start()
      const session = await Session.open(agent.socketPath)
      await session.push(readFileSync(image.path), image.sha256)
      return new DebianHost(namespace, agent, session, image.sha256)
    } catch (error) {
      await agent[Symbol.asyncDispose]()
      await namespace[Symbol.asyncDispose]()
      throw error
    }
  }

  /** A guest as it is asked for: one vCPU, 512 MB, and the `login` key for the image's first user. */
  spec(vm: MessageInitShape<typeof VmSpecSchema> & { vmId: string; name: string }): VmSpec {
    const image = { imageSha256: this.#imageSha256, imageKind: 'disk', imageFormat: 'qcow2' }
    const size = { vcpus: 1, memMb: 512, diskGb: 4, persistent: true }
    return create(VmSpecSchema, { ...image, ...size, sshAuthorizedKeys: [this.text('login.pub')], ...vm })
  }

  /** Wants exactly these VMs. */
  want(...vms: VmSpec[]): void {
    this.session.want(++this.#epoch, vms)
  }

  /** Ends the agent, which its guests outlive, and starts it again. */
  async restartAgent(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    this.session[Symbol.dispose]()
    await this.agent.end('SIGTERM')
    await meanwhile()
    await this.agent.start()
    this.session = await Session.open(this.agent.socketPath)
  }

  /** The first report in which this VM is as asked. */
  async row(vmId: string, want: (row: VmRow) => boolean, timeoutMs = REPORT_TIMEOUT_MS): Promise<VmRow> {
    const rowOf = (report: Report) => report.vms.find((row) => row.vmId === vmId)
    const is = (report: Report) => {
      const row = rowOf(report)
      return row !== undefined && want(row)
    }
    return rowOf(await this.session.report(is, timeoutMs))!
  }

  /** Waits until cloud-init is through with this guest; what its console said till then. */
  async settled(vmId: string, timeoutMs = BOOT_TIMEOUT_MS): Promise<string> {
    return await this.session.consoleUntil(vmId, SETTLED, AbortSignal.timeout(timeoutMs))
  }

  /** `ssh` in the host's network, by our own files alone: nothing is ever asked. Any exit code is a result. */
  ssh(options: SshLogin, command: string): Promise<ProgramResult> {
    const { address, alias = address, user = 'debian', identity = 'login', knownHosts } = options
    const trust = knownHosts
      ? ['StrictHostKeyChecking=yes', `UserKnownHostsFile=${this.at(knownHosts)}`]
      : ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR']
    const rules = [...trust, 'BatchMode=yes', 'IdentitiesOnly=yes', 'ConnectTimeout=30', `HostKeyAlias=${alias}`]
    const args = ['-F', 'none', '-i', this.at(identity), ...rules.flatMap((rule) => ['-o', rule]), `${user}@${address}`]
    return this.namespace.run(['ssh', ...args, command], { env: process.env, timeoutMs: SSH_TIMEOUT_MS })
  }

  /** `ssh` that throws unless the command ends with 0; its stdout. */
  async mustSsh(options: SshLogin, command: string): Promise<string> {
    const { code, stdout, stderr } = await this.ssh(options, command)
    if (code === 0) return stdout
    throw new Error(`ssh "${command}" ended with ${code}: ${stderr}${stdout}`)
  }

  at(name: string): string {
    return join(this.dir, name)
  }

  text(name: string): string {
    return readFileSync(this.at(name), 'utf8').trim()
  }

  keygen(...args: string[]): void {
    execFileSync('ssh-keygen', ['-q', ...args], { cwd: this.dir })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.session[Symbol.dispose]()
    await this.agent[Symbol.asyncDispose]()
    await this.namespace[Symbol.asyncDispose]()
    rmSync(this.dir, { recursive: true, force: true })
  }
}

export interface SshLogin {
  address: string
  /** Name the guest's host key or certificate is looked up by. */
  alias?: string
  user?: string
  /** Key file in the host's folder; a certificate beside it is used too. */
  identity?: string
  /** File in the host's folder. Absent = any host key is taken. */
  knownHosts?: string
}
