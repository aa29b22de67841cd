import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { dial, digestOf, freePort, PortsRig, tcpServer } from '../support/ports-rig.ts'

const GIB = 1024 ** 3
const SOURCE = new URL('../support/byte-source.ts', import.meta.url).pathname

describe('a published port under load', () => {
  it('carries a gibibyte whole', async () => {
    const source = fork(SOURCE, [String(GIB)])
    try {
      const [{ port }] = (await once(source, 'message')) as [{ port: number }]
      await using rig = new PortsRig()
      const hostPort = await freePort()
      rig.publish({ guestPort: port, hostPort })
      await rig.status(({ state }) => state === 'listening')
      const told = once(source, 'message') as Promise<[{ sha256: string }]>
      const client = await dial(hostPort)
      const got = await digestOf(client)
      client.end()
      const [{ sha256 }] = await told
      expect(got).toEqual({ bytes: GIB, sha256 })
    } finally {
      source.kill('SIGKILL')
    }
  }, 120_000)

  it('serves 200 at once, each its own bytes', async () => {
    await using guest = await tcpServer((socket) => socket.pipe(socket))
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: guest.port, hostPort })
    await rig.status(({ state }) => state === 'listening')
    const clients = await Promise.all(Array.from({ length: 200 }, () => dial(hostPort)))
    await rig.status(({ sessions }) => sessions?.active === 200n)
    const echoes = clients.map(async (client) => {
      const bytes = randomBytes(64 * 1024)
      client.end(bytes)
      const parts: Buffer[] = []
      for await (const part of client) parts.push(part as Buffer)
      return Buffer.concat(parts).equals(bytes)
    })
    expect(await Promise.all(echoes)).toEqual(Array(200).fill(true))
    await rig.status(({ sessions }) => sessions?.active === 0n && sessions.refused === 0n && sessions.dropped === 0n)
  })
})
