import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SerialPort } from '../../../../src/agent/serial/serial-port.ts'
import type { Clock } from '../../../../src/ipc/base/clock.ts'

let dir: string
let server: Server
let port: SerialPort
let idle: PromiseWithResolvers<void>
const guests: Socket[] = []

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'serial-port-'))
  const path = join(dir, 's')
  server = createServer((guest) => guests.push(guest))
  server.listen(path)
  await once(server, 'listening')
  idle = Promise.withResolvers()
  const sleep = (ms: number) => (ms === 1_000 ? idle.promise : new Promise<void>(() => {}))
  const clock: Clock = { now: Date.now, monotonic: () => 0, sleep }
  port = new SerialPort({
    clock,
    connect: async () => {
      const socket = connect(path)
      await once(socket, 'connect')
      return socket
    },
  })
})
afterEach(() => {
  port.close()
  for (const guest of guests.splice(0)) guest.destroy()
  server.close()
  rmSync(dir, { recursive: true })
})

const guest = async (index: number): Promise<Socket> => {
  while (!guests[index]) await once(server, 'connection')
  return guests[index]
}

describe('the serial socket of a VM', () => {
  it('is connected only while somebody types, for a slow reader of it stops the guest', async () => {
    await new Promise(setImmediate)
    expect(guests).toEqual([])
    expect(await Promise.all([port.write(Buffer.from('a')), port.write(Buffer.from('b'))])).toEqual([
      undefined,
      undefined,
    ])
    const typed = text(await guest(0))
    idle.resolve()
    expect(await typed).toBe('ab')
    expect(guests).toHaveLength(1)
  })

  it('is connected again by the next byte typed', async () => {
    await port.write(Buffer.from('a'))
    const first = text(await guest(0))
    idle.resolve()
    await first
    idle = Promise.withResolvers()
    expect(await port.write(Buffer.from('b'))).toBeUndefined()
    const [bytes] = await once(await guest(1), 'data')
    expect(String(bytes)).toBe('b')
  })
})
