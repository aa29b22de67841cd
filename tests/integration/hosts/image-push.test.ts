import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../src/ipc/base/log.ts'
import { toConnectError } from '../../../src/ipc/fault-wire.ts'
import { Fault } from '../../../src/ipc/faults.ts'
import type { ActiveSession } from '../../../src/main/control/hosts/agent-connection.ts'
import type { AgentLink } from '../../../src/main/control/hosts/agent-link.ts'
import { ImagePush, type PushState } from '../../../src/main/control/hosts/image-push.ts'
import { openLocal } from '../../../src/main/control/hosts/local-agent.ts'
import { type FakeAgent, startFakeAgent } from '../../support/fake-agent.ts'

const CHUNK_BYTES = 1024 * 1024

describe('an image on its way to a host', () => {
  let dir: string
  let agent: FakeAgent
  let push: ImagePush
  let link: AgentLink
  let held: Buffer
  let failures: number
  let calls: { offset: number; chunks: number[] }[]
  let whole: PromiseWithResolvers<void>
  let refuse: Fault | undefined
  let states: (PushState | undefined)[]

  const put = (name: string, bytes: Buffer) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    fs.writeFileSync(path.join(dir, name === '' ? sha256 : name), bytes)
    return { sha256, bytes }
  }
  beforeEach(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-push-'))
    held = Buffer.alloc(0)
    failures = 0
    calls = []
    whole = Promise.withResolvers<void>()
    refuse = undefined
    states = []
    agent = await startFakeAgent(path.join(dir, 'agent.sock'), {
      statImage: ({ sessionId }) => {
        expect(sessionId).toBe('s1')
        return { haveBytes: BigInt(held.length), complete: false }
      },
      async putImage(requests) {
        const call = { offset: -1, chunks: [] as number[] }
        calls.push(call)
        let size = 0
        let wanted = ''
        for await (const { message } of requests) {
          if (message.case === 'start') {
            wanted = message.value.sha256
            call.offset = Number(message.value.offset)
            size = Number(message.value.sizeBytes)
          }
          if (message.case !== 'chunk') continue
          held = Buffer.concat([held, message.value])
          call.chunks.push(message.value.length)
          if (refuse) throw toConnectError(refuse)
          if (failures-- > 0) throw toConnectError(new Fault('image/push-failed', 'transient'))
        }
        if (held.length === size && createHash('sha256').update(held).digest('hex') !== wanted) {
          held = Buffer.alloc(0)
          throw toConnectError(new Fault('image/digest-mismatch', 'permanent'))
        }
        if (held.length === size) whole.resolve()
        return { haveBytes: BigInt(held.length) }
      },
    })
    link = await openLocal({ clock: systemClock }, 'lab', agent.socketPath, new AbortController().signal)
    push = new ImagePush({
      images: dir,
      sessions: { active: () => ({ hostId: 'h1', sessionId: 's1', connection: link }) as unknown as ActiveSession },
      clock: { ...systemClock, sleep: async () => {} },
      log: silentLog,
    })
  })
  afterEach(async () => {
    await push.stop()
    link.close(new Fault('app/cancelled', 'cancelled'))
    await agent.close()
    fs.rmSync(dir, { recursive: true })
  })

  /** Each state of the image as listeners see it; resolves at the first that `holds`. */
  const watched = (sha256: string, holds: (state: PushState | undefined) => boolean) =>
    new Promise<void>((resolve) => {
      push.onChange((hostId) => {
        const state = push.state(hostId, sha256)
        states.push(state)
        if (holds(state)) resolve()
      })
    })

  it('arrives byte for byte, in chunks of at most 1 MiB', async () => {
    const { sha256, bytes } = put('', randomBytes(2 * CHUNK_BYTES + 17))
    push.want('h1', [{ sha256 }])
    push.want('h1', [{ sha256 }])
    await whole.promise
    expect(held.equals(bytes)).toBe(true)
    expect(calls).toEqual([{ offset: 0, chunks: [CHUNK_BYTES, CHUNK_BYTES, 17] }])
  })

  it('goes on where it stopped after a failure', async () => {
    const { sha256, bytes } = put('', randomBytes(3 * CHUNK_BYTES))
    failures = 1
    push.want('h1', [{ sha256 }])
    await whole.promise
    expect(held.equals(bytes)).toBe(true)
    expect(calls.map(({ offset }) => offset)).toEqual([0, CHUNK_BYTES])
  })

  it('that somebody asked for is sent beside what the host waits for, and outlives its reports', async () => {
    const { sha256, bytes } = put('', randomBytes(CHUNK_BYTES))
    failures = 1
    const asked = push.ask('h1', sha256, new AbortController().signal)
    push.want('h1', [])
    await asked
    expect(held.equals(bytes)).toBe(true)
    expect(push.state('h1', sha256)).toBeUndefined()
  })

  it('that somebody asked for and is not here ends with the reason', async () => {
    const { signal } = new AbortController()
    await expect(push.ask('h1', 'a'.repeat(64), signal)).rejects.toMatchObject({ code: 'image/push-failed' })
  })

  it('that somebody asked for is given up when they are', async () => {
    const { sha256 } = put('', randomBytes(100))
    refuse = new Fault('host/no-answer', 'transient')
    const stop = new AbortController()
    const asked = push.ask('h1', sha256, stop.signal)
    stop.abort(new Fault('app/cancelled', 'cancelled'))
    await expect(asked).rejects.toMatchObject({ code: 'app/cancelled' })
  })

  it('that two ask for at once is sent once, and both are told', async () => {
    const { sha256, bytes } = put('', randomBytes(CHUNK_BYTES))
    const { signal } = new AbortController()
    await Promise.all([push.ask('h1', sha256, signal), push.ask('h1', sha256, signal)])
    expect(held.equals(bytes)).toBe(true)
    expect(calls).toHaveLength(1)
  })

  it('that one of two gives up goes on for the other', async () => {
    const { sha256, bytes } = put('', randomBytes(CHUNK_BYTES))
    const stop = new AbortController()
    const first = push.ask('h1', sha256, stop.signal)
    const second = push.ask('h1', sha256, new AbortController().signal)
    stop.abort(new Fault('app/cancelled', 'cancelled'))
    await expect(first).rejects.toMatchObject({ code: 'app/cancelled' })
    await second
    expect(held.equals(bytes)).toBe(true)
  })

  it('that nobody waits for any more stops on its way', async () => {
    const { sha256 } = put('', randomBytes(64 * CHUNK_BYTES))
    const stop = new AbortController()
    const begun = watched(sha256, (state) => (state?.progress?.doneBytes ?? 0) > 0)
    const asked = push.ask('h1', sha256, stop.signal)
    await begun
    stop.abort(new Fault('app/cancelled', 'cancelled'))
    await expect(asked).rejects.toMatchObject({ code: 'app/cancelled' })
    await push.stop()
    expect(held.length).toBeLessThan(64 * CHUNK_BYTES)
    expect(push.state('h1', sha256)).toBeUndefined()
  })

  it('does not hold up another one when its file is not here', async () => {
    const { sha256 } = put('', randomBytes(100))
    push.want('h1', [{ sha256: 'a'.repeat(64) }, { sha256 }])
    await whole.promise
    expect(held).toHaveLength(100)
  })

  it('is never a path: only a digest names a file', async () => {
    put('secret', randomBytes(10))
    const { sha256 } = put('', randomBytes(100))
    push.want('h1', [{ sha256: '../secret' }, { sha256: 'secret' }, { sha256 }])
    await whole.promise
    expect(calls).toHaveLength(1)
  })

  it('tells how far it got of how much, and nothing once it is there', async () => {
    const { sha256 } = put('', randomBytes(2 * CHUNK_BYTES))
    const over = watched(sha256, (state) => state === undefined)
    push.want('h1', [{ sha256 }])
    await over
    const totalBytes = 2 * CHUNK_BYTES
    expect(states.map((state) => state?.progress)).toEqual([
      { doneBytes: 0, totalBytes },
      { doneBytes: CHUNK_BYTES, totalBytes },
      { doneBytes: totalBytes, totalBytes },
      undefined,
    ])
  })

  it('tells why it failed until it goes on', async () => {
    const { sha256 } = put('', randomBytes(3 * CHUNK_BYTES))
    refuse = new Fault('host/disk-full', 'transient', { free: '1 MiB', needed: '3 MiB' })
    const failed = watched(sha256, (state) => state?.fault !== undefined && state.progress === undefined)
    push.want('h1', [{ sha256 }])
    await failed
    expect(states.at(-1)?.fault).toMatchObject({ code: 'host/disk-full', params: { free: '1 MiB' } })
    const over = watched(sha256, (state) => state === undefined)
    refuse = undefined
    await over
    const last = states.filter((state) => state !== undefined).at(-1)
    expect(last).toEqual({ progress: { doneBytes: 3 * CHUNK_BYTES, totalBytes: 3 * CHUNK_BYTES } })
  })

  it('sends a damaged file once, says that it is damaged, and goes on when it was replaced', async () => {
    const { sha256, bytes } = put('', randomBytes(CHUNK_BYTES))
    put(sha256, Buffer.alloc(CHUNK_BYTES))
    let told = 0
    const said = watched(sha256, (state) => state?.fault?.params['said'] !== undefined && ++told === 5)
    push.want('h1', [{ sha256 }])
    await said
    expect(states.at(-1)?.fault?.code).toBe('image/digest-mismatch')
    expect(calls).toHaveLength(1)
    put('new', bytes)
    fs.renameSync(path.join(dir, 'new'), path.join(dir, sha256))
    await whole.promise
    expect(held.equals(bytes)).toBe(true)
    expect(calls).toHaveLength(2)
  })

  it('says that its file is missing', async () => {
    const sha256 = 'a'.repeat(64)
    const failed = watched(sha256, (state) => state?.fault !== undefined)
    push.want('h1', [{ sha256 }])
    await failed
    expect(states.at(-1)?.fault).toMatchObject({
      code: 'image/push-failed',
      params: { detail: 'its file is missing where images are kept' },
    })
  })

  it('is given up when the host does not want it any more', async () => {
    const sha256 = 'a'.repeat(64)
    const failed = watched(sha256, (state) => state?.fault !== undefined)
    push.want('h1', [{ sha256 }])
    await failed
    push.want('h1', [])
    expect(push.state('h1', sha256)).toBeUndefined()
  })
})
