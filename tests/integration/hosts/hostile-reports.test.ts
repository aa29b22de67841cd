import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import http2 from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { create, fromBinary, toBinary, toJson } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../src/ipc/base/log.ts'
import { ReportSchema, SyncRequestSchema, SyncResponseSchema } from '../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { FleetStateSchema } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { helloMessage } from '../../../src/ipc/hello-message.ts'
import { AGENT_PROTOCOL } from '../../../src/ipc/units.ts'
import { FleetView } from '../../../src/main/control/api/fleet-view.ts'
import { openLocal } from '../../../src/main/control/hosts/local-agent.ts'
import { runAgentSession } from '../../../src/main/control/sync/agent-session.ts'
import { Hub } from '../../../src/main/control/sync/hub.ts'
import { Registry } from '../../../src/main/control/sync/registry.ts'
import { ReportApplier } from '../../../src/main/control/sync/report-applier.ts'
import { TaskRunner } from '../../../src/main/control/tasks/task-runner.ts'
import { type FakeAgent, listen } from '../../support/fake-agent.ts'
import { anyBytes, anyMessage } from '../../support/hostile-values.ts'
import { enveloped } from '../../support/raw-wire.ts'
import { aHost, aStore, aVm } from '../../unit/main/control/a-store.ts'

const GROWTH_MB = 32
const FUZZ_MS = 5_000
const SEEDS = [20_240_229, 1_060_137_942]
const FLEET = 'f'.repeat(32)
const HOST_ID = 'b'.repeat(32)

/** Proves who it is as an honest agent does, and then sends whatever it is given. */
class LyingAgent {
  readonly #keys = generateKeyPairSync('ed25519')
  readonly #server = http2.createServer()
  readonly dir = mkdtempSync(join(tmpdir(), 'eitri-liar-'))
  lies: readonly Buffer[] = []
  agent: FakeAgent | undefined

  async start(): Promise<string> {
    this.#server.on('stream', (stream) => {
      stream.on('error', () => {})
      stream.respond({ ':status': 200, 'content-type': 'application/connect+proto' })
      stream.once('data', (first: Buffer) => {
        const { message } = fromBinary(SyncRequestSchema, first.subarray(5))
        if (message.case !== 'attach') return stream.end()
        stream.write(this.#hello(message.value.nonce))
        for (const lie of this.lies) stream.write(lie)
        stream.end()
      })
    })
    this.agent = await listen(this.#server, join(this.dir, 'a.sock'))
    return this.agent.socketPath
  }
  async stop(): Promise<void> {
    await this.agent?.close()
    rmSync(this.dir, { recursive: true })
  }
  publicKey(): Buffer {
    return this.#keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  }
  #hello(nonce: Uint8Array): Buffer {
    const value = {
      protocolVersion: AGENT_PROTOCOL,
      hostId: HOST_ID,
      identityPublicKey: this.publicKey(),
      signature: sign(null, helloMessage(nonce, HOST_ID, AGENT_PROTOCOL), this.#keys.privateKey),
      sessionId: 's',
    }
    return enveloped(toBinary(SyncResponseSchema, create(SyncResponseSchema, { message: { case: 'hello', value } })))
  }
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What this process holds once all that nobody needs is gone. */
function heldBytes(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

describe('a control plane whose agent lies in its reports', () => {
  const liar = new LyingAgent()
  let socketPath = ''
  beforeAll(async () => {
    socketPath = await liar.start()
  })
  afterAll(() => liar.stop())

  function plane() {
    const stores = aStore()
    const registry = new Registry()
    const transaction = <T>(work: () => T): T => stores.db.transaction(work)
    const parts = { ...stores, registry, clock: systemClock, log: silentLog }
    const applier = new ReportApplier({ ...parts, push: { want: () => {} }, transaction })
    const template = aHost({ name: 'liar' })
    const agent = { ...template.agent, identityPublicKey: liar.publicKey().toString('base64') }
    const host = stores.hosts.create({ ...template, agent })
    const honest = stores.hosts.create(aHost({ name: 'honest' }))
    const mine = stores.vms.create(aVm(host.id, { name: 'mine' }))
    const theirs = stores.vms.create(aVm(honest.id, { name: 'theirs' }))
    const tasks = new TaskRunner(stores.tasks, systemClock, silentLog)
    const view = new FleetView({ ...parts, tasks, pushes: { state: () => undefined } })
    const deps = { ...parts, hub: new Hub(), applier, fleetId: FLEET, controllerName: 'laptop', version: '0' }
    const session = async () => {
      const connection = await openLocal({ clock: systemClock }, 'liar', socketPath, AbortSignal.timeout(10_000))
      const { signal } = new AbortController()
      const fault = await runAgentSession(deps, { hostId: host.id, connection, signal })
      connection.close(fault)
      return fault
    }
    return { ...stores, registry, view, host, honest, mine, theirs, session, applier }
  }

  it.each(SEEDS)('keeps its store, shows the fleet and stays small (seed %i)', { timeout: 60_000 }, async (seed) => {
    const { view, session, hosts, vms, host, honest, mine, theirs } = plane()
    const theirsBefore = vms.find(theirs.id)
    const honestBefore = hosts.get(honest.id)
    const known = anyMessage(ReportSchema).map((report) => {
      const [row] = (report as { vms?: { vmId: string }[] }).vms ?? []
      if (row) row.vmId = seed % 2 === 0 ? mine.id : theirs.id
      const message = create(SyncResponseSchema, { message: { case: 'report', value: report as never } })
      return toBinary(SyncResponseSchema, message)
    })
    const lie = fc.record({
      message: fc.oneof(known, anyBytes(SyncResponseSchema)),
      flags: fc.oneof({ weight: 8, arbitrary: fc.constant(0) }, fc.nat(255)),
    })
    let runs = 0
    const round = () =>
      fc.assert(
        fc.asyncProperty(fc.array(lie, { minLength: 1, maxLength: 3 }), async (lies) => {
          runs++
          liar.lies = lies.map(({ message, flags }) => enveloped(message, { flags }))
          const fault = await session()
          expect(fault.code, String(fault.cause instanceof Error ? fault.cause.stack : fault)).not.toBe('app/bug')
          const state = view.state('default')
          expect(() =>
            toJson(FleetStateSchema, fromBinary(FleetStateSchema, toBinary(FleetStateSchema, state))),
          ).not.toThrow()
        }),
        { seed, numRuns: 100_000, interruptAfterTimeLimit: FUZZ_MS / 2, endOnFailure: true },
      )
    await round()
    const before = heldBytes()
    await round()
    const grownMb = (heldBytes() - before) / 2 ** 20
    console.log(`seed ${seed}: ${runs} sessions, ${Math.round(grownMb)} MB more`)
    expect(grownMb).toBeLessThan(GROWTH_MB)
    expect(vms.find(theirs.id)).toEqual(theirsBefore)
    expect(hosts.get(honest.id)).toEqual(honestBefore)
    expect(hosts.get(host.id).agent).toEqual(host.agent)
    expect(
      vms
        .listAll()
        .map((vm) => vm.name)
        .sort(),
    ).toEqual(['mine', 'theirs'])
  })

  it('ends a session at a report of two million empty rows before it builds them', async () => {
    const { session } = plane()
    const rows = Buffer.alloc(4_000_000, Buffer.from([0x1a, 0x00]))
    liar.lies = [enveloped(Buffer.concat([Buffer.from([0x12, 0x80, 0x92, 0xf4, 0x01]), rows]))]
    const before = process.memoryUsage().rss
    expect(await session()).toMatchObject({ code: 'agent/misbehaved' })
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(128)
  })
})
