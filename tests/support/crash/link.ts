import { createHash } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import {
  DesiredStateSchema,
  type Hello,
  type Report,
  SnapshotSchema,
  SyncRequestSchema,
} from '../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { LIMITS } from '../../../src/ipc/units.ts'
import { attached, ConsoleStream, type WireClient, wireClient } from '../agent-wire.ts'

/** One attached session; every wait on it rejects once the agent is gone. */
export class Link implements Disposable {
  readonly hello: Hello
  latest: Report | undefined
  reports = 0
  readonly #link: WireClient
  readonly #session: Awaited<ReturnType<typeof attached>>
  #changed = Promise.withResolvers<void>()

  private constructor(link: WireClient, session: Awaited<ReturnType<typeof attached>>) {
    this.#link = link
    this.#session = session
    this.hello = session.hello
    void this.#pump()
  }

  static async open(socketPath: string): Promise<Link> {
    const link = wireClient(socketPath)
    try {
      return new Link(link, await attached(link.client))
    } catch (error) {
      link[Symbol.dispose]()
      throw error
    }
  }

  async #pump(): Promise<void> {
    try {
      for (;;) {
        this.latest = await this.#session.sync.until('report')
        this.reports++
        this.#changed.resolve()
        this.#changed = Promise.withResolvers()
      }
    } catch (error) {
      this.#changed.promise.catch(() => {})
      this.#changed.reject(error)
    }
  }

  send(epoch: bigint, vms: VmSpec[]): void {
    const state = create(DesiredStateSchema, { vms })
    const contentSha256 = createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest()
    const value = create(SnapshotSchema, { epoch, contentSha256, state })
    this.#session.sync.requests.push(create(SyncRequestSchema, { message: { case: 'snapshot', value } }))
  }

  /** The first report, from the latest on, that is as wanted. */
  async until(goal: (report: Report) => boolean): Promise<Report> {
    while (!this.latest || !goal(this.latest)) await this.#changed.promise
    return this.latest
  }

  /** A report that came after now. */
  async next(): Promise<Report> {
    const before = this.reports
    return await this.until(() => this.reports > before)
  }

  async push(image: Uint8Array, sha256: string): Promise<bigint> {
    const { sessionId } = this.hello
    const { client } = this.#link
    const { haveBytes } = await client.statImage({ sessionId, sha256 })
    const start = { sessionId, sha256, sizeBytes: BigInt(image.length), offset: haveBytes }
    const answer = await client.putImage(
      (async function* () {
        yield { message: { case: 'start' as const, value: start } }
        for (let at = Number(haveBytes); at < image.length; at += LIMITS.imageChunkBytes)
          yield { message: { case: 'chunk' as const, value: image.subarray(at, at + LIMITS.imageChunkBytes) } }
      })(),
    )
    return answer.haveBytes
  }

  /** Removes every image nothing refers to. */
  async collectImages(): Promise<void> {
    await this.#link.client.collectImages({ sessionId: this.hello.sessionId, all: true })
  }

  /** Has somebody look at a VM's console, so that its log is looked at too. */
  async viewConsole(vmId: string): Promise<void> {
    const stream = new ConsoleStream(this.#link.client, { sessionId: this.hello.sessionId, vmId, tailBytes: 16n })
    while ((await stream.next())?.case !== 'data');
    stream.requests.end()
  }

  [Symbol.dispose](): void {
    this.#link[Symbol.dispose]()
  }
}
