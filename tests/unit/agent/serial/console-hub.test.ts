import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConsoleHub } from '../../../../src/agent/serial/console-hub.ts'
import { SerialPort } from '../../../../src/agent/serial/serial-port.ts'
import type { Clock } from '../../../../src/ipc/base/clock.ts'
import { KiB } from '../../../../src/ipc/units.ts'

const VM = 'a'.repeat(32)

let dir: string
let hub: ConsoleHub
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-hub-'))
})
afterEach(async () => {
  await hub.close()
  rmSync(dir, { recursive: true, force: true })
})

const never = () => new Promise<Socket>(() => {})

describe('the consoles of a host', () => {
  it('knows how much was recorded of VMs that are off, and nothing of others', async () => {
    writeFileSync(join(dir, 'serial.log'), 'hello')
    hub = new ConsoleHub({ logPathOf: (id) => (id === VM ? join(dir, 'serial.log') : undefined) })
    expect(hub.end(VM)).toBe(5n)
    expect(hub.end('b'.repeat(32))).toBe(0n)
    await expect(hub.view('b'.repeat(32), { from: 0 })).rejects.toMatchObject({ code: 'vm/not-found' })
  })

  it.each<[string, (path: string) => unknown]>([
    ['a link to itself', (path) => symlinkSync(path, path)],
    ['a named pipe', (path) => execFileSync('mkfifo', [path])],
    ['a directory', (path) => mkdirSync(path)],
  ])('counts a log that is %s as nothing recorded, and says so until it can be read', async (_, make) => {
    const log = join(dir, 'serial.log')
    make(log)
    hub = new ConsoleHub({ logPathOf: () => log })
    expect(hub.end(VM)).toBe(0n)
    hub.ensure({ id: VM, logPath: log, connect: never })
    expect(hub.notices()).toEqual([expect.stringContaining(`The serial logs of 1 VMs cannot be read (${log}: `)])
    rmSync(log, { recursive: true })
    writeFileSync(log, 'hello')
    await expect.poll(() => hub.end(VM)).toBe(5n)
    expect(hub.notices()).toEqual([])
  })

  it('goes on where the note of what was cut off is a named pipe', () => {
    const log = join(dir, 'serial.log')
    writeFileSync(log, 'hello')
    execFileSync('mkfifo', [`${log}.head`])
    hub = new ConsoleHub({ logPathOf: () => log })
    expect(hub.end(VM)).toBe(5n)
  })

  it('opens a console at the end the log has now, however long nobody looked', async () => {
    const log = join(dir, 'serial.log')
    writeFileSync(log, 'hello')
    hub = new ConsoleHub({ logPathOf: () => log })
    expect(hub.end(VM)).toBe(5n)
    writeFileSync(log, 'hello, world')
    const events = (await hub.view(VM, { from: 0 })).events(new AbortController().signal)
    expect((await events.next()).value).toMatchObject({ type: 'opened', end: 12 })
    await events.return(undefined)
  })

  it('takes input only while the VM is on', async () => {
    hub = new ConsoleHub({ logPathOf: () => join(dir, 'serial.log') })
    expect(await hub.input(VM, Buffer.from('x'))).toBe('the VM is off; nothing was typed')
    const typed = new PassThrough()
    hub.ensure({ id: VM, logPath: join(dir, 'serial.log'), connect: async () => typed as unknown as Socket })
    expect(await hub.input(VM, Buffer.from('x'))).toBeUndefined()
    hub.stop(VM)
    expect(await hub.input(VM, Buffer.from('x'))).toBe('the VM is off; nothing was typed')
  })

  it('puts logs that cannot be shortened into the report', async () => {
    const log = join(dir, 'serial.log')
    writeFileSync(log, Buffer.alloc(64 * KiB))
    const failed = Promise.withResolvers<void>()
    const disk = {
      saveText: async () => {},
      punchHead: async () => {
        failed.resolve()
        throw new Error('Operation not supported')
      },
    }
    hub = new ConsoleHub({ logPathOf: () => log, disk, keepBytes: 4 * KiB, slackBytes: 4 * KiB })
    expect(hub.notices()).toEqual([])
    hub.ensure({ id: VM, logPath: log, connect: never })
    await failed.promise
    await new Promise(setImmediate)
    expect(hub.notices()).toEqual([expect.stringContaining('1 VMs cannot be shortened')])
  })

  it('forgets a destroyed VM and ends its viewers with words', async () => {
    writeFileSync(join(dir, 'serial.log'), 'abc')
    let known = true
    hub = new ConsoleHub({ logPathOf: () => (known ? join(dir, 'serial.log') : undefined) })
    const events = (await hub.view(VM, { tailBytes: 0 })).events(new AbortController().signal)
    await events.next()
    known = false
    hub.forget(VM)
    await expect(events.next()).rejects.toMatchObject({ code: 'vm/not-found' })
    await expect(hub.view(VM, { from: 0 })).rejects.toThrow()
  })
})

describe('typing into a guest that does not read', () => {
  it('waits a bounded time, then says how much was not typed', async () => {
    hub = new ConsoleHub({ logPathOf: () => undefined })
    const path = join(dir, 'serial.sock')
    const guests: Socket[] = []
    const server = createServer((guest) => guests.push(guest.pause()))
    server.listen(path)
    await once(server, 'listening')
    const onlyTheDrainEnds = (ms: number) => (ms === 10_000 ? Promise.resolve() : new Promise<void>(() => {}))
    const clock: Clock = { now: Date.now, monotonic: () => 0, sleep: onlyTheDrainEnds }
    const port = new SerialPort({
      clock,
      connect: async () => {
        const socket = connect(path)
        await once(socket, 'connect')
        return socket
      },
    })
    let refusal: string | undefined
    let sent = 0
    for (; refusal === undefined && sent < 64 * 1024 * KiB; sent += 64 * KiB)
      refusal = await port.write(Buffer.alloc(64 * KiB))
    expect(refusal).toBe('the guest does not read its keyboard; 65536 bytes were not typed')
    expect(sent).toBeLessThan(4 * 1024 * KiB)
    port.close()
    for (const guest of guests) guest.destroy()
    server.close()
  })
})
