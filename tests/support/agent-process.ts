import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import type { GuestClock } from '../../src/ipc/gen/eitri/agent/v1/clock_pb.js'
import type { ShowCommandResponse } from '../../src/ipc/gen/eitri/agent/v1/command_pb.js'
import type { GetHistoryResponse } from '../../src/ipc/gen/eitri/agent/v1/history_pb.js'
import {
  type AgentUpgradeSchema,
  DesiredStateSchema,
  type Exposure,
  type Report,
  SnapshotSchema,
  SyncRequestSchema,
} from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { LIMITS } from '../../src/ipc/units.ts'
import { type AttachOptions, attached, ConsoleStream, type WireClient, wireClient } from './agent-wire.ts'
import type { NetNamespace } from './net-namespace.ts'
import { WAIT_MS, within } from './within.ts'

export interface AgentProcessOptions {
  built?: boolean
  namespace?: Pick<NetNamespace, 'enter'>
  /** More flags of `serve`. */
  flags?: string[]
  env?: NodeJS.ProcessEnv
}

/** A real agent process whose state directory is deeper than a socket address can hold. */
export class AgentProcess implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'eitri-agent-'))
  readonly stateDir = join(this.dir, 'deep'.repeat(20), 'state')
  readonly socketPath = join(this.dir, 'run', 'agent.sock')
  /** Of the next start. */
  flags: readonly string[]
  env: NodeJS.ProcessEnv
  readonly #entry: string
  readonly #namespace: Pick<NetNamespace, 'enter'> | undefined
  #child: ChildProcess | undefined
  stderr = ''

  /**
   * `built` runs the bundle that hosts get instead of the sources. In a namespace it has the network to itself; outside
   * one it leaves this machine's alone.
   */
  constructor({ built = false, namespace, flags = [], env = {} }: AgentProcessOptions = {}) {
    this.#namespace = namespace
    this.flags = flags
    this.env = env
    this.#entry = new URL(built ? '../../dist/agent/agent.cjs' : '../../src/agent/index.ts', import.meta.url).pathname
  }

  /** Resolves when it is dead, however that came. */
  get died(): Promise<unknown> {
    return once(this.#child!, 'exit')
  }

  get pid(): number {
    return this.#child!.pid!
  }

  async start(): Promise<void> {
    const serve = [this.#entry, 'serve', '--state-dir', this.stateDir, '--socket', this.socketPath, ...this.flags]
    const argv = [process.execPath, ...serve]
    const [program, ...args] = this.#namespace?.enter(...argv) ?? argv
    const env = { ...process.env, EITRI_GUEST_NETWORK: this.#namespace ? 'auto' : 'user', ...this.env }
    const child = spawn(program!, args, { stdio: ['ignore', 'ignore', 'pipe'], env })
    this.#child = child
    const started = Promise.withResolvers<void>()
    child.stderr.on('data', (text: Buffer) => {
      this.stderr += text
      if (text.includes('"agent.started"')) started.resolve()
    })
    child.once('exit', () => started.reject(new Error(`the agent ended: ${this.stderr}`)))
    await started.promise
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  /** Pids of hypervisors that run this agent's VMs; its probe is none. */
  hypervisors(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => cwdOf(pid).startsWith(join(this.stateDir, 'vms')))
      .map(Number)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM')
    for (const pid of this.hypervisors()) process.kill(pid, 'SIGKILL')
    rmSync(this.dir, { recursive: true, force: true })
  }
}

function cwdOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('qemu') ? readlinkSync(`/proc/${pid}/cwd`) : ''
  } catch {
    return ''
  }
}

/** One attached session that sends snapshots and waits for reports. */
export class Session implements Disposable {
  readonly #link: WireClient
  readonly #attached: Awaited<ReturnType<typeof attached>>

  private constructor(link: WireClient, session: Awaited<ReturnType<typeof attached>>) {
    this.#link = link
    this.#attached = session
  }

  static async open(socketPath: string, options: AttachOptions = {}): Promise<Session> {
    const link = wireClient(socketPath)
    return new Session(link, await attached(link.client, options))
  }

  get hello() {
    return this.#attached.hello
  }

  want(
    epoch: bigint,
    vms: VmSpec[],
    exposures: Exposure[] = [],
    agentUpgrade?: MessageInitShape<typeof AgentUpgradeSchema>,
  ): void {
    const state = create(DesiredStateSchema, { vms, exposures, ...(agentUpgrade ? { agentUpgrade } : {}) })
    const contentSha256 = createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest()
    const value = create(SnapshotSchema, { epoch, contentSha256, state })
    this.#attached.sync.requests.push(create(SyncRequestSchema, { message: { case: 'snapshot', value } }))
  }

  async report(want: (report: Report) => boolean, waitMs?: number): Promise<Report> {
    return await this.#attached.sync.until('report', want, waitMs)
  }

  async setClock(vmId: string): Promise<GuestClock | undefined> {
    const { sessionId } = this.#attached
    return (await this.#link.client.setGuestClock({ sessionId, vmId })).clock
  }

  /** Of a VM, '' = of the host: the last ten minutes as the agent kept them. */
  async history(vmId = ''): Promise<GetHistoryResponse> {
    const { sessionId } = this.#attached
    return await this.#link.client.getHistory({ sessionId, vmId, spanS: 600, samples: 60 })
  }

  async command(vmId: string): Promise<ShowCommandResponse> {
    const { sessionId } = this.#attached
    return await this.#link.client.showCommand({ sessionId, vmId })
  }

  /** Puts a newer agent on the host; answers its path there. */
  async putAgent(sent: Uint8Array, file: { sha256: string; unpackedBytes: number; gzip: boolean }): Promise<string> {
    const { sessionId } = this.#attached
    const { sha256, gzip } = file
    const sizes = { sizeBytes: BigInt(sent.length), unpackedBytes: BigInt(file.unpackedBytes) }
    const frames = async function* () {
      yield { message: { case: 'start' as const, value: { sessionId, sha256, gzip, ...sizes } } }
      for (let at = 0; at < sent.length; at += LIMITS.imageChunkBytes)
        yield { message: { case: 'chunk' as const, value: sent.subarray(at, at + LIMITS.imageChunkBytes) } }
    }
    return (await this.#link.client.putAgent(frames())).stagedPath
  }

  async push(image: Uint8Array, sha256: string): Promise<bigint> {
    const { sessionId } = this.#attached
    const { haveBytes } = await this.#link.client.statImage({ sessionId, sha256 })
    const start = { sessionId, sha256, sizeBytes: BigInt(image.length), offset: haveBytes }
    const chunks = function* () {
      for (let at = Number(haveBytes); at < image.length; at += LIMITS.imageChunkBytes)
        yield image.subarray(at, at + LIMITS.imageChunkBytes)
    }
    const answer = await this.#link.client.putImage(
      (async function* () {
        yield { message: { case: 'start' as const, value: start } }
        for (const value of chunks()) yield { message: { case: 'chunk' as const, value } }
      })(),
    )
    return answer.haveBytes
  }

  /** Reads a VM's console from its first byte until `text` came `times` times; types `input` first. */
  async console(vmId: string, text: string, times: number, input = ''): Promise<string> {
    const stream = new ConsoleStream(this.#link.client, { sessionId: this.#attached.sessionId, vmId, fromOffset: 0n })
    if (input !== '') stream.type(Buffer.from(input))
    let seen = ''
    const said = async () => {
      while (seen.split(text).length <= times) {
        const message = await stream.next()
        if (message === undefined) throw new Error(`the console ended after ${JSON.stringify(seen)}`)
        if (message.case === 'data') seen += Buffer.from(message.value.data).toString('latin1')
      }
    }
    await within(WAIT_MS, said(), () => `the console never said ${JSON.stringify(text)}: ${seen.slice(-2_000)}`)
    stream.requests.end()
    return seen
  }

  /** Reads a VM's console from its first byte until it says this. */
  async consoleUntil(vmId: string, pattern: RegExp, signal: AbortSignal): Promise<string> {
    const open = { sessionId: this.#attached.sessionId, vmId, fromOffset: 0n }
    const stream = new ConsoleStream(this.#link.client, open, signal)
    let seen = ''
    while (!pattern.test(seen)) {
      const message = await stream.next().catch((cause) => {
        throw new Error(`the console never said ${pattern}: ${seen.slice(-2_000)}`, { cause })
      })
      if (message === undefined) throw new Error(`the console ended after ${JSON.stringify(seen.slice(-2_000))}`)
      if (message.case !== 'data') continue
      seen += Buffer.from(message.value.data).toString('latin1')
      stream.ack(message.value.offset + BigInt(message.value.data.length))
    }
    stream.requests.end()
    return seen
  }

  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]()
  }
}
