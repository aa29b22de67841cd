import fs from 'node:fs'
import http2 from 'node:http2'
import type net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import ssh2 from 'ssh2'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { findFault } from '../../../src/ipc/faults.ts'
import { MESSAGE_BURST } from '../../../src/main/control/hosts/agent-link.ts'
import { openLocal } from '../../../src/main/control/hosts/local-agent.ts'
import { type FakeAgent, listen, startFakeAgent } from '../../support/fake-agent.ts'
import { newSshKey } from '../../support/ssh-key.ts'
import { forever, signIn, targetOf } from '../../support/ssh-login.ts'

const MIB = 1024 * 1024
const BOUND_BYTES = 64 * MIB

describe('an agent that lies', () => {
  let dir: string
  let agent: FakeAgent | undefined
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-lies-'))
  })
  afterEach(async () => {
    await agent?.close()
    fs.rmSync(dir, { recursive: true })
  })
  /** Its time stands still, so that no allowance grows back. */
  const clock = { ...systemClock, monotonic: () => 0 }
  const open = (socketPath: string) => openLocal({ clock }, 'lab', socketPath, forever)
  const reports = async (socketPath: string) => {
    const link = await open(socketPath)
    const error = await (async () => {
      for await (const _ of link.client.sync((async function* () {})()));
    })().catch((e: unknown) => e)
    return { link, error }
  }

  it('is cut off when a header claims 2 GB, with memory bounded', async () => {
    const server = http2.createServer()
    server.on('stream', (stream) => {
      stream.on('error', () => {})
      stream.respond({ ':status': 200, 'content-type': 'application/connect+proto' })
      const header = Buffer.alloc(5)
      header.writeUInt32BE(2_000_000_000, 1)
      stream.write(header)
      const chunk = Buffer.alloc(MIB)
      const pour = () => {
        while (!stream.destroyed && stream.write(chunk));
        stream.once('drain', pour)
      }
      pour()
    })
    agent = await listen(server, path.join(dir, 'a.sock'))
    const before = process.memoryUsage().rss
    const { link, error } = await reports(agent.socketPath)
    expect(findFault(error)?.code).toBe('agent/misbehaved')
    expect((await link.closed).code).toBe('agent/misbehaved')
    expect(process.memoryUsage().rss - before).toBeLessThan(BOUND_BYTES)
  })

  it('is cut off when it floods messages', async () => {
    let sent = 0
    agent = await startFakeAgent(path.join(dir, 'a.sock'), {
      async *sync() {
        for (;;) {
          sent++
          yield {}
        }
      },
    })
    const { link, error } = await reports(agent.socketPath)
    expect(findFault(error)?.params['detail']).toBe('it floods messages')
    expect((await link.closed).code).toBe('agent/misbehaved')
    expect(sent).toBeGreaterThan(MESSAGE_BURST)
  })
})

describe('an sshd that ignores the channel window', () => {
  it('is cut off at the first byte past it, although nobody reads', async () => {
    const { text: hostKey } = newSshKey()
    const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
      client.on('error', () => {})
      client.on('authentication', (context) => context.accept())
      client.on('session', (accept) => {
        accept().on('exec', (run) => {
          const { outgoing } = run() as unknown as { outgoing: { id: number } }
          const wire = (client as unknown as { _protocol: { channelData(id: number, data: Buffer): void } })._protocol
          const chunk = Buffer.alloc(32_000)
          for (let sent = 0; sent < 16 * MIB; sent += chunk.length) wire.channelData(outgoing.id, chunk)
        })
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as net.AddressInfo
    try {
      const connection = await signIn(targetOf({ port, user: 'x' }), { secrets: { password: 'y' } })
      const channel = await connection.exec('pour')
      expect((await connection.closed).code).toBe('ssh/lost')
      expect(channel.readableLength).toBeLessThanOrEqual(3 * MIB)
    } finally {
      server.close()
    }
  })
})
