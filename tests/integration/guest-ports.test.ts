import { once } from 'node:events'
import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { ExposureStatus } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { TombstoneSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { GuestHost } from '../support/guest-host.ts'
import { netNamespaceImpossible } from '../support/net-namespace.ts'

const ECHO = 24_000
const FLOOD = 24_001
const QUIET = 24_002

/** Sends so many bytes, ends its side, and says whether the very same came back. */
const SEND = `const [port, size] = process.argv.slice(1).map(Number)
const { createHash, randomBytes } = require('node:crypto')
const sent = createHash('sha256'), got = createHash('sha256')
const socket = require('node:net').connect({ port, host: '127.0.0.1', allowHalfOpen: true })
socket.on('error', (error) => { console.log(error.code); process.exit() })
socket.on('data', (part) => got.update(part))
socket.on('end', () => console.log(got.digest('hex') === sent.digest('hex') ? 'same' : 'different'))
socket.on('connect', async () => {
  for (let left = size; left > 0; left -= 65536) {
    const part = randomBytes(Math.min(65536, left))
    sent.update(part)
    if (!socket.write(part)) await new Promise((resolve) => socket.once('drain', resolve))
  }
  socket.end()
})`

/** Says that bytes come, and then how it ended. */
const TAKE = `const socket = require('node:net').connect(Number(process.argv[1]), '127.0.0.1')
socket.once('data', () => console.log('flows'))
socket.on('data', () => {})
socket.on('error', () => {})
socket.on('close', () => console.log('ended'))`

const KNOCK = `const socket = require('node:dgram').createSocket('udp4')
socket.send('hello', Number(process.argv[1]), '127.0.0.1', () => socket.close())`

const isIn = (state: string) => (status: ExposureStatus | undefined) => status?.state === state

describe.skipIf(netNamespaceImpossible())('published ports of real guests', () => {
  const script = (host: GuestHost, code: string, ...args: number[]) =>
    host.space.must([process.execPath, '-e', code, ...args.map(String)])
  const status = async (host: GuestHost, id: string, want: (status: ExposureStatus | undefined) => boolean) => {
    const { exposures } = await host.report(({ exposures }) => want(exposures.find((e) => e.id === id)))
    return exposures.find((e) => e.id === id)
  }
  const ports = (vmId: string) => [
    { id: 'echo', vmId, guestPort: 7, hostPort: ECHO, protocol: 'tcp', scope: 'loopback' },
    { id: 'flood', vmId, guestPort: 9, hostPort: FLOOD, protocol: 'tcp', scope: 'lan' },
    { id: 'quiet', vmId, guestPort: 9, hostPort: QUIET, protocol: 'udp', scope: 'lan' },
  ]
  const serve = async (host: GuestHost, vmId: string) => {
    await host.prompt(vmId)
    await host.guest(vmId, '(nc -ll -p 7 -e cat &) ; (nc -ll -p 9 -e yes &)')
  }

  it('on a bridge: bytes whole, cut off with the VM, there without a control plane, gone with the VM and back', async () => {
    await using host = await GuestHost.open({ flags: ['--bridge-cidr', '10.214.0.0/24'] })
    const vmId = await host.create('web')
    host.publish(...ports(vmId))
    await host.runningWith(vmId)
    await status(host, 'flood', isIn('listening'))
    await serve(host, vmId)
    expect((await script(host, SEND, ECHO, 8 * 1024 * 1024)).trim()).toBe('same')

    await script(host, KNOCK, QUIET)
    const refused = await status(host, 'quiet', (s) => s?.sessions?.refused === 1n)
    expect(refused?.state).toBe('listening')

    const taking = host.space.spawn([process.execPath, '-e', TAKE, String(FLOOD)])
    let said = ''
    taking.stdout!.on('data', (text) => {
      said += text
    })
    await once(taking.stdout!, 'data')
    await status(host, 'flood', (s) => s?.sessions?.active === 1n)
    const ended = once(taking, 'exit')
    host.change(vmId, { powerState: 'stopped', forceStop: true })
    await ended
    expect(said).toBe('flows\nended\n')
    const cut = await status(host, 'flood', (s) => s?.state === 'waiting' && s.sessions?.dropped === 1n)
    expect(cut).toMatchObject({ reason: 'The VM is not running.', sessions: { active: 0n } })

    host.change(vmId, { powerState: 'running', forceStop: false })
    await status(host, 'echo', isIn('listening'))
    await host.end('SIGKILL')
    await host.agent.start()
    const heard = async () => (await script(host, SEND, ECHO, 1)).trim()
    await expect.poll(heard, { timeout: 30_000, interval: 200 }).not.toBe('ECONNREFUSED')

    await host.attach()
    host.change(vmId, { tombstone: create(TombstoneSchema, { graceS: 3600n }) })
    await host.report(({ exposures, quarantined }) => exposures.length === 0 && quarantined.length === 1)
    expect(await heard()).toBe('ECONNREFUSED')
    host.undelete(vmId)
    await status(host, 'echo', isIn('listening'))
  }, 180_000)

  it('in user-mode networking: bytes whole through what the hypervisor forwards, and the VM takes its ports along', async () => {
    await using host = await GuestHost.open({ flags: ['--guest-network', 'user'] })
    const vmId = await host.create('web')
    host.publish(...ports(vmId))
    await status(host, 'echo', isIn('listening'))
    await serve(host, vmId)
    expect((await script(host, SEND, ECHO, 4 * 1024 * 1024)).trim()).toBe('same')
    await host.purge(vmId)
    expect((await script(host, SEND, ECHO, 1)).trim()).toBe('ECONNREFUSED')
  }, 120_000)
})
