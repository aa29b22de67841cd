import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { type Client, Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { ImageCache } from '../../src/agent/images/image-cache.ts'
import type { ImageReceiver } from '../../src/agent/rpc/sync-engine.ts'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { AgentService } from '../../src/ipc/gen/eitri/agent/v1/agent_pb.js'
import { type PutImageRequest, PutImageRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/image_pb.js'
import { LIMITS, MiB } from '../../src/ipc/units.ts'
import { attached, Pushed, wireClient, wireRig } from '../support/agent-wire.ts'
import { ImageServer, stopAfter } from '../support/image-server.ts'

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const chunkFrame = (chunk: Uint8Array) =>
  create(PutImageRequestSchema, { message: { case: 'chunk', value: chunk as Uint8Array<ArrayBuffer> } })

function put(
  client: Client<typeof AgentService>,
  sessionId: string,
  bytes: Uint8Array,
  offset = 0,
  until = bytes.length,
) {
  const requests = new Pushed<PutImageRequest>()
  const value = { sessionId, sha256: sha256(bytes), sizeBytes: BigInt(bytes.length), offset: BigInt(offset) }
  requests.push(create(PutImageRequestSchema, { message: { case: 'start', value } }))
  for (let at = offset; at < until; at += LIMITS.imageChunkBytes)
    requests.push(chunkFrame(bytes.subarray(at, Math.min(until, at + LIMITS.imageChunkBytes))))
  return { requests, response: client.putImage(requests) }
}

describe('PutImage', () => {
  it('goes on at the offset of StatImage after a broken push, and is whole at its end', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const image = randomBytes(5 * MiB + 17)
    const digest = sha256(image)
    const first = put(link.client, sessionId, image, 0, 2 * MiB)
    first.requests.end()
    expect((await first.response).haveBytes).toBe(BigInt(2 * MiB))
    expect(await link.client.statImage({ sessionId, sha256: digest })).toMatchObject({
      haveBytes: BigInt(2 * MiB),
      complete: false,
    })
    const second = put(link.client, sessionId, image, 2 * MiB)
    second.requests.end()
    expect((await second.response).haveBytes).toBe(BigInt(image.length))
    expect(rig.images.whole.get(digest)?.equals(image)).toBe(true)
    const again = put(link.client, sessionId, image)
    again.requests.end()
    expect((await again.response).haveBytes).toBe(BigInt(image.length))
  })

  it('refuses another offset than what is held, as out_of_range', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const push = put(link.client, sessionId, randomBytes(MiB), 512)
    push.requests.end()
    const error = ConnectError.from(await push.response.catch((e: unknown) => e))
    expect(error.code).toBe(Code.OutOfRange)
    expect(rig.images.writes).toBe(0)
  })

  it('throws bytes away whose digest is another, in words', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const requests = new Pushed<PutImageRequest>()
    const value = { sessionId, sha256: '0'.repeat(64), sizeBytes: 3n, offset: 0n }
    requests.push(create(PutImageRequestSchema, { message: { case: 'start', value } }), chunkFrame(Buffer.from('abc')))
    requests.end()
    const error = await link.client.putImage(requests).catch((e: unknown) => e)
    expect(fromConnectError(error).code).toBe('image/digest-mismatch')
    expect(rig.images.stat('0'.repeat(64))).toEqual({ haveBytes: 0, complete: false })
  })

  it('takes no chunk above 1 MiB, no byte past the size, and no digest that is none', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const big = put(link.client, sessionId, randomBytes(2 * MiB), 0, 0)
    big.requests.push(chunkFrame(new Uint8Array(LIMITS.imageChunkBytes + 1)))
    expect(fromConnectError(await big.response.catch((e: unknown) => e)).code).toBe('input/too-large')
    const more = put(link.client, sessionId, randomBytes(10))
    more.requests.push(chunkFrame(new Uint8Array(1)))
    expect(fromConnectError(await more.response.catch((e: unknown) => e)).params['problem']).toMatch(/more bytes/)
    const none = await link.client.statImage({ sessionId, sha256: '../etc' }).catch((e: unknown) => e)
    expect(fromConnectError(none).code).toBe('input/invalid')
  })

  it('is refused before Attach and ended with its session, keeping what arrived', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    using other = wireClient(rig.socketPath)
    const image = randomBytes(3 * MiB)
    const early = put(link.client, 'none', image)
    expect(ConnectError.from(await early.response.catch((e: unknown) => e)).code).toBe(Code.FailedPrecondition)
    const { sessionId } = await attached(link.client)
    const arrived = new Promise<void>((resolve) => {
      rig.images.onWrite = async () => resolve()
    })
    const push = put(link.client, sessionId, image, 0, MiB)
    const failed = push.response.catch((e: unknown) => e)
    await arrived
    await attached(other.client)
    expect(fromConnectError(await failed).code).toBe('agent/superseded')
    expect(rig.images.stat(sha256(image)).haveBytes).toBe(MiB)
  })

  it('a cache that is slow holds the sender back instead of buffering', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    rig.images.onWrite = () => gate
    const image = randomBytes(24 * MiB)
    let pulled = 0
    async function* requests() {
      const value = { sessionId, sha256: sha256(image), sizeBytes: BigInt(image.length), offset: 0n }
      yield create(PutImageRequestSchema, { message: { case: 'start', value } })
      for (let at = 0; at < image.length; at += LIMITS.imageChunkBytes) {
        pulled++
        yield chunkFrame(image.subarray(at, at + LIMITS.imageChunkBytes))
      }
    }
    const response = link.client.putImage(requests())
    for (let i = 0; i < 20; i++) await link.client.getStatus({})
    expect(pulled).toBeLessThan(10)
    release()
    expect((await response).haveBytes).toBe(BigInt(image.length))
  })
})

describe('pushes into the real cache', () => {
  const URL_IMAGE = randomBytes(3 * MiB)
  const DIGEST = sha256(URL_IMAGE)

  async function cacheRig() {
    const server = await ImageServer.start(URL_IMAGE)
    const dir = await mkdtemp(join(tmpdir(), 'eitri-pushes-'))
    const cache = await ImageCache.open(dir)
    const images: ImageReceiver = {
      stat: (digest) => cache.stat(digest),
      openPut: (...push) => cache.openPut(...push),
      collect: async () => Promise.reject(new Error('not asked')),
    }
    const rig = await wireRig({ images })
    const socketPath = rig.socketPath
    const close = async () => {
      await rig[Symbol.asyncDispose]()
      await cache.close()
      await server[Symbol.asyncDispose]()
      await rm(dir, { recursive: true, force: true })
    }
    return { server, cache, dir, socketPath, [Symbol.asyncDispose]: close }
  }
  const held = (cache: ImageCache, bytes: number) => expect.poll(() => cache.stat(DIGEST).haveBytes).toBe(bytes)

  it('of a newer session go on where those of the older were cut off', async () => {
    await using rig = await cacheRig()
    using old = wireClient(rig.socketPath)
    using young = wireClient(rig.socketPath)
    const first = await attached(old.client)
    const cut = put(old.client, first.sessionId, URL_IMAGE, 0, MiB)
    const failed = cut.response.catch((e: unknown) => e)
    await held(rig.cache, MiB)
    const { sessionId } = await attached(young.client)
    expect(fromConnectError(await failed).code).toBe('agent/superseded')
    const rest = put(young.client, sessionId, URL_IMAGE, MiB)
    rest.requests.end()
    expect((await rest.response).haveBytes).toBe(BigInt(URL_IMAGE.length))
    expect(await readFile(join(rig.dir, DIGEST))).toEqual(URL_IMAGE)
  })

  it('are told to wait while the host downloads the same image', async () => {
    await using rig = await cacheRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    rig.server.next(stopAfter(rig.server, MiB))
    const fetched = rig.cache.fetch(rig.server.url, DIGEST, () => {}, AbortSignal.timeout(30_000)).catch(() => {})
    await held(rig.cache, MiB)
    const push = put(link.client, sessionId, URL_IMAGE, MiB)
    push.requests.end()
    expect(fromConnectError(await push.response.catch((e: unknown) => e))).toMatchObject({
      code: 'image/push-failed',
      disposition: 'transient',
      params: { detail: 'the host is downloading it' },
    })
    rig.server.break()
    await fetched
    const again = put(link.client, sessionId, URL_IMAGE, MiB)
    again.requests.end()
    expect((await again.response).haveBytes).toBe(BigInt(URL_IMAGE.length))
    expect(await readFile(join(rig.dir, DIGEST))).toEqual(URL_IMAGE)
  })

  it('give way to a download, which goes on behind them', async () => {
    await using rig = await cacheRig()
    using link = wireClient(rig.socketPath)
    const { sessionId } = await attached(link.client)
    const push = put(link.client, sessionId, URL_IMAGE, 0, MiB)
    const failed = push.response.catch((e: unknown) => e)
    await held(rig.cache, MiB)
    await rig.cache.fetch(rig.server.url, DIGEST, () => {}, AbortSignal.timeout(30_000))
    expect(rig.server.asked.map(({ range }) => range)).toEqual([`bytes=${MiB}-`])
    push.requests.push(chunkFrame(URL_IMAGE.subarray(MiB, 2 * MiB)))
    expect(fromConnectError(await failed)).toMatchObject({ code: 'image/push-failed', disposition: 'transient' })
    expect(await readFile(join(rig.dir, DIGEST))).toEqual(URL_IMAGE)
  })
})

describe('CollectImages', () => {
  it('answers only a session, says what went and why the rest stays', async () => {
    await using rig = await wireRig()
    using link = wireClient(rig.socketPath)
    const early = await link.client.collectImages({ dryRun: true }).catch((e: unknown) => e)
    expect(ConnectError.from(early).code).toBe(Code.FailedPrecondition)
    const item = { sha256: 'a'.repeat(64), whole: true, bytes: MiB, unusedMs: 90_500, users: [], busy: false }
    const users = Array.from({ length: 30 }, (_, i) => `web-${i}`)
    rig.images.collection = {
      remove: [{ ...item, reason: 'age' }],
      keep: [{ ...item, sha256: 'b'.repeat(64), users, reason: 'in_use' }],
      free: 12.5,
      low: 3,
      unknown: '',
    }
    const { sessionId } = await attached(link.client)
    const answer = await link.client.collectImages({ sessionId, dryRun: true, all: true })
    expect(rig.images.collected).toEqual([{ dryRun: true, all: true }])
    expect(answer).toMatchObject({ freeBytes: 12n, lowBytes: 3n, unknown: '' })
    expect(answer.removed).toMatchObject([{ sizeBytes: BigInt(MiB), whole: true, reason: 'age', unusedS: 90n }])
    expect(answer.kept).toMatchObject([{ reason: 'in_use', vms: users.slice(0, 20) }])
  })
})
