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
import { ImagePush } from '../../../src/main/control/hosts/image-push.ts'
import { openLocal } from '../../../src/main/control/hosts/local-agent.ts'
import { type FakeAgent, startFakeAgent } from '../../support/fake-agent.ts'

const CHUNK_BYTES = 1024 * 1024

describe('an image on its way to a host', () => {
  let dir: string
  let agent: FakeAgent
  let push: ImagePush
  let held: Buffer
  let failures: number
  let calls: { offset: number; chunks: number[] }[]
  let whole: PromiseWithResolvers<void>

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
    agent = await startFakeAgent(path.join(dir, 'agent.sock'), {
      statImage: ({ sessionId }) => {
        expect(sessionId).toBe('s1')
        return { haveBytes: BigInt(held.length), complete: false }
      },
      async putImage(requests) {
        const call = { offset: -1, chunks: [] as number[] }
        calls.push(call)
        let size = 0
        for await (const { message } of requests) {
          if (message.case === 'start') {
            call.offset = Number(message.value.offset)
            size = Number(message.value.sizeBytes)
          }
          if (message.case !== 'chunk') continue
          held = Buffer.concat([held, message.value])
          call.chunks.push(message.value.length)
          if (failures-- > 0) throw toConnectError(new Fault('image/push-failed', 'transient'))
        }
        if (held.length === size) whole.resolve()
        return { haveBytes: BigInt(held.length) }
      },
    })
    push = new ImagePush({
      images: dir,
      connectorOf: () => ({
        connect: () => Promise.reject(new Error('bulk has its own connection')),
        connectBulk: (signal) => openLocal({ clock: systemClock }, 'lab', agent.socketPath, signal),
      }),
      sessions: { active: () => ({ hostId: 'h1', sessionId: 's1' }) as ActiveSession },
      clock: { ...systemClock, sleep: async () => {} },
      log: silentLog,
    })
  })
  afterEach(async () => {
    await push.stop()
    await agent.close()
    fs.rmSync(dir, { recursive: true })
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
})
