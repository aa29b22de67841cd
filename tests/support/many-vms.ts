import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmSpec, VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { type AgentProcess, Session } from './agent-process.ts'
import { filesUnder } from './files-under.ts'
import { tinyImageFile } from './tiny-image.ts'

const PROMPT = ':~# '
const SAMPLES = 20
const SAMPLE_MS = 50

/** What an agent and its VMs hold on a machine, as numbers that must not creep. */
export interface Holdings {
  agentFds: number
  vmms: number
  taps: number
  /** In the state directory, the agent's log aside. */
  files: number
}

/** A real agent with tiny guests, all wanted through one session. */
export class ManyVms implements Disposable {
  readonly #agent: AgentProcess
  readonly #sha256: string
  readonly #session: Session
  readonly #wanted = new Map<string, VmSpec>()
  #epoch = 0n

  private constructor(agent: AgentProcess, session: Session, sha256: string) {
    this.#agent = agent
    this.#session = session
    this.#sha256 = sha256
  }

  /** The agent must run; its cache holds the tiny image when this resolves. */
  static async open(agent: AgentProcess): Promise<ManyVms> {
    const image = readFileSync(await tinyImageFile())
    const sha256 = createHash('sha256').update(image).digest('hex')
    const session = await Session.open(agent.socketPath)
    await session.push(image, sha256)
    return new ManyVms(agent, session, sha256)
  }

  get ids(): string[] {
    return [...this.#wanted.keys()]
  }

  /** Wants `count` new running VMs in one snapshot; their ids. */
  create(count: number): string[] {
    const ids = Array.from({ length: count }, () => randomBytes(16).toString('hex'))
    for (const id of ids) this.#want(id, {})
    this.#send()
    return ids
  }

  /** Resolves when every wanted VM runs. */
  async running(): Promise<void> {
    const wanted = this.ids
    await this.#session.report((report) => wanted.every((id) => isRunning(report, id)))
  }

  /** Resolves when the guest of a running VM showed its prompt. */
  async prompt(id: string): Promise<void> {
    await this.#session.console(id, PROMPT, 1)
  }

  /** Deletes for good; resolves with the agent's word that nothing is left. */
  async purge(ids: string[]): Promise<void> {
    for (const id of ids) this.#want(id, { tombstone: { graceS: 0n } })
    this.#send()
    await this.#session.report(({ destroyed }) => ids.every((id) => destroyed.includes(id)))
    for (const id of ids) this.#wanted.delete(id)
    this.#send()
    await this.#session.report(
      ({ lastSeenEpoch, destroyed }) => lastSeenEpoch === this.#epoch && destroyed.length === 0,
    )
  }

  /** Looked up in /proc, /sys and the state directory, not asked of the agent; the least of a second, for files come and go. */
  async holdings(): Promise<Holdings> {
    const least = this.#held()
    for (let sample = 0; sample < SAMPLES; sample++) {
      await delay(SAMPLE_MS)
      const now = this.#held()
      for (const key of Object.keys(least) as (keyof Holdings)[]) least[key] = Math.min(least[key], now[key])
    }
    return least
  }

  #held(): Holdings {
    const files = filesUnder(this.#agent.stateDir)
    return {
      agentFds: readdirSync(`/proc/${this.#agent.pid}/fd`).length,
      vmms: this.#agent.hypervisors().length,
      taps: readdirSync('/sys/class/net').filter((name) => name.startsWith('eil-')).length,
      files: files.filter((file) => !/(^|\/)agent\.log/.test(file)).length,
    }
  }

  #want(vmId: string, change: MessageInitShape<typeof VmSpecSchema>): void {
    const spec = create(VmSpecSchema, {
      vmId,
      name: `vm-${vmId.slice(0, 8)}`,
      imageSha256: this.#sha256,
      imageKind: 'kernel',
      vcpus: 1,
      memMb: 96,
      diskGb: 1,
      persistent: true,
      powerState: 'running',
      ...change,
    })
    this.#wanted.set(vmId, spec)
  }

  #send(): void {
    this.#epoch += 1n
    this.#session.want(this.#epoch, [...this.#wanted.values()])
  }

  [Symbol.dispose](): void {
    this.#session[Symbol.dispose]()
  }
}

const isRunning = (report: Report, id: string): boolean =>
  report.vms.some(({ vmId, power, phase }) => vmId === id && power === 'running' && phase === 'ready')
