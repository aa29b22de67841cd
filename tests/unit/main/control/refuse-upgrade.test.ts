import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { refuseUpgrade } from '../../../../src/main/control/refuse-upgrade.ts'

const UPGRADE = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'

describe('a refused upgrade', () => {
  it('is no error of ours when the peer is gone by then', () => {
    const socket = new PassThrough()
    refuseUpgrade(socket, 404)
    expect(() => socket.emit('error', new Error('read ECONNRESET'))).not.toThrow()
  })

  it('is answered, and its connection does not stay open for a peer that stays', async () => {
    const server = createServer().on('upgrade', (_, socket) => refuseUpgrade(socket, 403))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const peer = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true })
    peer.write(UPGRADE)
    expect(await text(peer)).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/)
    await new Promise((resolve) => server.close(resolve))
    peer.destroy()
  })
})
