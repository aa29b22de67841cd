import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect as connectH2 } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import { SyncRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import {
  attached,
  attachFrame,
  FLEET,
  helloIsSigned,
  OTHER_FLEET,
  SyncClient,
  snapshotFrame,
  VM,
  wireClient,
  wireRig,
} from '../support/agent-wire.ts'

describe('the Sync session of an agent', () => {
  it('a first frame that is not Attach ends with auth_rejected and the words', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const sync = new SyncClient(link.client)
    sync.requests.push(snapshotFrame(1n))
    expect(await sync.until('end')).toMatchObject({ code: 'auth_rejected', detail: 'first frame must be Attach' })
    expect(await sync.next()).toBeUndefined()
    expect(rig.engine.accepted).toEqual([])
  })

  it('an empty stream and an unknown protocol version are auth_rejected', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const silent = new SyncClient(link.client)
    silent.requests.end()
    expect((await silent.until('end')).code).toBe('auth_rejected')
    const future = new SyncClient(link.client)
    future.requests.push(attachFrame({ protocolVersion: 99 }))
    expect(await future.until('end')).toMatchObject({ code: 'auth_rejected', detail: expect.stringContaining('99') })
    expect(rig.identity.fleetId).toBe('')
  })

  it('Hello proves the identity over the nonce, and the agent adopts its first fleet', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const nonce = randomBytes(32)
    const { hello } = await attached(link.client, { nonce, controllerName: 'laptop' })
    expect(helloIsSigned(hello, nonce)).toBe(true)
    expect(helloIsSigned(hello, randomBytes(32))).toBe(false)
    expect(hello).toMatchObject({ hostId: rig.identity.hostId, agentVersion: '1.0.0', provisioner: 'qemu' })
    expect(rig.identity).toMatchObject({ fleetId: FLEET, controllerName: 'laptop' })
  })

  it('facts that were not looked at are absent from Hello, not empty', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { hello } = await attached(link.client)
    expect(hello.facts).toBeUndefined()
    expect(hello.capacity).toBeUndefined()
  })

  it('a newer session of the fleet wins, the older is told superseded and its end changes nothing', async () => {
    await using rig = await wireRig()
    using first = wireClient(rig.socketPath)
    using second = wireClient(rig.socketPath)
    const old = await attached(first.client)
    const now = await attached(second.client)
    expect((await old.sync.until('end')).code).toBe('superseded')
    expect(await old.sync.next()).toBeUndefined()
    const found = await second.client.statImage({ sessionId: now.sessionId, sha256: '0'.repeat(64) })
    expect(found.complete).toBe(false)
    now.sync.requests.push(snapshotFrame(3n))
    await now.sync.until('report', (report) => report.lastSeenEpoch === 3n)
    expect(rig.engine.listeners).toBe(1)
  })

  it('another control plane is refused by name until a person takes over', async () => {
    await using rig = await wireRig()
    using first = wireClient(rig.socketPath)
    using second = wireClient(rig.socketPath)
    const mine = await attached(first.client, { controllerName: 'laptop' })
    const refused = new SyncClient(second.client)
    refused.requests.push(attachFrame({ fleetId: OTHER_FLEET, controllerName: 'desk' }))
    expect(await refused.until('end')).toMatchObject({ code: 'foreign_controller', controllerName: 'laptop' })
    mine.sync.requests.push(snapshotFrame(1n))
    await mine.sync.until('report', (report) => report.lastSeenEpoch === 1n)

    await attached(second.client, { fleetId: OTHER_FLEET, controllerName: 'desk', takeOver: true })
    expect(await mine.sync.until('end')).toMatchObject({ code: 'foreign_controller', controllerName: 'desk' })
    expect(rig.identity.fleetId).toBe(OTHER_FLEET)
  })

  it('an adoption that cannot be written is transient, never an auth verdict', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    rig.identity.adoptFails = new Error('ENOSPC')
    const sync = new SyncClient(link.client)
    sync.requests.push(attachFrame())
    expect((await sync.until('end')).code).toBe('transient')
  })

  it('a fenced snapshot is answered with a report that says so and changes nothing', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    sync.requests.push(snapshotFrame(7n))
    await sync.until('report', (report) => report.lastSeenEpoch === 7n)
    sync.requests.push(snapshotFrame(6n))
    expect((await sync.until('report', (report) => report.fenced)).lastSeenEpoch).toBe(7n)
    sync.requests.push(snapshotFrame(8n))
    expect((await sync.until('report', (report) => report.lastSeenEpoch === 8n)).fenced).toBe(false)
    expect(rig.engine.accepted.map((s) => s.epoch)).toEqual([7n, 8n])
  })

  it('a snapshot that cannot be kept ends the session as transient', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    rig.engine.acceptFails = new Error('EIO')
    sync.requests.push(snapshotFrame(1n))
    expect((await sync.until('end')).code).toBe('transient')
    expect((await link.client.getStatus({})).attached).toBe(false)
  })

  it('frames of a newer control plane are passed over, a second Attach is not', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    sync.requests.push(create(SyncRequestSchema), snapshotFrame(2n))
    await sync.until('report', (report) => report.lastSeenEpoch === 2n)
    sync.requests.push(attachFrame())
    const error = await sync.until('end').catch((e: unknown) => e)
    expect(fromConnectError(error).params['problem']).toBe('attach after Attach')
  })

  it('a snapshot without a state ends only that stream, with words', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    const message = { case: 'snapshot', value: { epoch: 1n, contentSha256: new Uint8Array(32) } } as const
    sync.requests.push(create(SyncRequestSchema, { message }))
    const error = await sync.until('end').catch((e: unknown) => e)
    expect(fromConnectError(error).params['problem']).toBe('a snapshot without a state')
    await attached(link.client)
  })

  it('the first report comes with Hello and changes are told at once, many as one', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    await sync.until('report')
    const began = performance.now()
    for (let i = 0; i < 1000; i++) rig.engine.change()
    await sync.until('report')
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  it('GetStatus needs no session', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    expect(await link.client.getStatus({})).toMatchObject({ hostId: rig.identity.hostId, fleetId: '', attached: false })
    await attached(link.client)
    expect(await link.client.getStatus({})).toMatchObject({ fleetId: FLEET, attached: true })
  })

  it('consoles and images are refused without the attached session id', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const stat = await link.client.statImage({ sessionId: '', sha256: '0'.repeat(64) }).catch((e: unknown) => e)
    expect(ConnectError.from(stat).code).toBe(Code.FailedPrecondition)
    await attached(link.client)
    const wrong = await link.client.statImage({ sessionId: 'x', sha256: '0'.repeat(64) }).catch((e: unknown) => e)
    expect(ConnectError.from(wrong).code).toBe(Code.FailedPrecondition)
    expect(rig.hub.end(VM)).toBe(0n)
  })
})

describe('an agent against a hostile or dead peer', () => {
  it('refuses a message header that claims 2 GB at once and serves others', async () => {
    await using rig = await wireRig()
    const session = connectH2('http://agent.local', { createConnection: () => connect(rig.socketPath) })
    const stream = session.request({
      ':method': 'POST',
      ':path': '/eitri.agent.v1.AgentService/Sync',
      'content-type': 'application/connect+proto',
      'connect-protocol-version': '1',
    })
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const began = performance.now()
    stream.write(Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]))
    await once(stream, 'end')
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(Buffer.concat(chunks).toString('latin1')).toMatch(/auth_rejected|resource_exhausted/)
    session.destroy()
    using link = wireClient(rig.socketPath)
    await attached(link.client)
  })

  it('a session with an oversized snapshot ends and is reported as such', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sync } = await attached(link.client)
    const vms = [{ vmId: VM, cloudInit: new Uint8Array(5 * 1024 * 1024) }]
    const value = { epoch: 1n, contentSha256: new Uint8Array(32), state: { vms } }
    sync.requests.push(create(SyncRequestSchema, { message: { case: 'snapshot', value } }))
    const error = await sync.until('end').catch((e: unknown) => e)
    expect(ConnectError.from(error).code).toBe(Code.ResourceExhausted)
    expect(rig.engine.accepted).toEqual([])
  })

  it('drops a peer that answers no ping', async () => {
    await using rig = await wireRig({ pingMs: 20 })
    const deaf = connect(rig.socketPath)
    deaf.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')
    deaf.resume()
    await once(deaf, 'close')
  })

  it('T25, SYN-10: a peer that stops reading is cut off at the write deadline, its session freed', async () => {
    await using rig = await wireRig({ writeDeadlineMs: 100, pingMs: 60_000 })
    const session = connectH2('http://agent.local', {
      createConnection: () => connect(rig.socketPath),
      settings: { initialWindowSize: 2_000 },
    })
    session.on('error', () => {})
    const gone = once(session, 'close')
    rig.engine.rows.push(...Array.from({ length: 2_000 }, () => ({ vmId: VM, detail: 'x'.repeat(200) }) as never))
    const stream = session.request({
      ':method': 'POST',
      ':path': '/eitri.agent.v1.AgentService/Sync',
      'content-type': 'application/connect+proto',
      'connect-protocol-version': '1',
    })
    stream.on('error', () => {})
    const body = toBinary(SyncRequestSchema, attachFrame())
    const head = Buffer.alloc(5)
    head.writeUInt32BE(body.length, 1)
    stream.write(Buffer.concat([head, body]))
    await gone
    using link = wireClient(rig.socketPath)
    expect((await link.client.getStatus({})).attached).toBe(false)
    expect(rig.engine.listeners).toBe(0)
  })
})

describe('the socket of an agent', () => {
  it('is 0600 in a directory of 0700 and goes away at close', async () => {
    const rig = await wireRig()
    expect(statSync(rig.socketPath).mode & 0o777).toBe(0o600)
    expect(statSync(join(rig.dir, 'run')).mode & 0o777).toBe(0o700)
    await rig.server.close()
    expect(statSync(rig.socketPath, { throwIfNoEntry: false })).toBeUndefined()
    await rig[Symbol.asyncDispose]()
  })

  it('of a live agent is refused, of a dead one replaced', async () => {
    await using rig = await wireRig()
    await expect(wireRig({ socketPath: rig.socketPath })).rejects.toMatchObject({ code: 'agent/already-running' })
    const dir = mkdtempSync(join(tmpdir(), 'eitri-stale-'))
    chmodSync(dir, 0o700)
    const path = join(dir, 'agent.sock')
    const listen = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`
    const dead = spawn(process.execPath, ['-e', listen], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(dead.stdout, 'data')
    dead.kill('SIGKILL')
    await once(dead, 'exit')
    expect(statSync(path).isSocket()).toBe(true)
    await using second = await wireRig({ socketPath: path })
    using link = wireClient(path)
    expect((await link.client.getStatus({})).hostId).toBe(second.identity.hostId)
    rmSync(dir, { recursive: true, force: true })
  })

  it('is not made where others may write, nor under a name too long to dial', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'eitri-open-'))
    mkdirSync(join(dir, 'open'))
    chmodSync(join(dir, 'open'), 0o777)
    await expect(wireRig({ socketPath: join(dir, 'open', 's') })).rejects.toMatchObject({ code: 'input/invalid' })
    await expect(wireRig({ socketPath: join(dir, 'x'.repeat(120), 's') })).rejects.toMatchObject({
      code: 'input/invalid',
    })
    rmSync(dir, { recursive: true, force: true })
  })
})
