import net from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toConnectError } from '../../src/ipc/fault-wire.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { UDP_NOT_TESTABLE } from '../../src/ipc/port-words.ts'
import type { FleetClient } from '../../src/main/fleet-client.ts'
import type { FakeSyncAgent } from '../support/fake-sync-agent.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

let rack: ScriptedHost
let agent: FakeSyncAgent
let client: FleetClient
const servers: net.Server[] = []

beforeEach(async () => {
  rack = await ScriptedHost.open()
  ;({ agent, client } = rack)
  await rack.vm('web')
  agent.report({ hostUplinkAddr: '127.0.0.1' })
  agent.forward = async function* () {
    yield { message: { case: 'opened', value: {} } }
  }
})
afterEach(async () => {
  for (const server of servers.splice(0)) server.close()
  await rack[Symbol.asyncDispose]()
})

/** A port that is listened on, as the host's would be. */
async function listening(onConnection: (socket: net.Socket) => void): Promise<number> {
  const server = net.createServer(onConnection)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as net.AddressInfo).port
}

async function probed(hostPort: number, more: { protocol?: string; scope?: string } = {}) {
  const { port } = await client.ports.publishPort({ vm: 'web', guestPort: 443, hostPort, ...more })
  await expect
    .poll(async () => (await client.ports.listPorts({})).ports.map((one) => one.hostAddress))
    .toEqual(['127.0.0.1'])
  return (await client.ports.probePort({ id: port?.id ?? '' })).probes
}

describe('probing a published port', () => {
  it('finds it open from here, and the guest open from its host, with how long each took', async () => {
    const hostPort = await listening((socket) => socket.on('error', () => {}))
    const probes = await probed(hostPort)
    expect(probes).toMatchObject([
      { from: 'this computer', to: `127.0.0.1:${hostPort}`, state: 'open', detail: '' },
      { from: 'host', to: 'web:443', state: 'open', detail: '' },
    ])
    expect(probes.map(({ tookMs }) => typeof tookMs)).toEqual(['number', 'number'])
  })

  it('takes a host that hangs up at once for one whose guest does not answer, and says what to start', async () => {
    agent.forward = () => {
      throw toConnectError(new Fault('port/not-taken', 'transient', { detail: 'connection refused' }))
    }
    expect(await probed(await listening((socket) => socket.end()))).toMatchObject([
      { state: 'refused', detail: expect.stringContaining('whether a program listens on 443 in web') },
      { state: 'refused', detail: expect.stringContaining('start the program that listens there') },
    ])
  })

  it('finds a port that nothing listens on refused', async () => {
    const hostPort = await listening(() => {})
    servers.pop()?.close()
    expect((await probed(hostPort))[0]).toMatchObject({ state: 'refused' })
  })

  it('says why the guest was not tried where its agent is of before that call', async () => {
    agent.forward = undefined
    const [, host] = await probed(await listening(() => {}))
    expect(host).toMatchObject({ from: 'host', state: 'not-tried', detail: expect.stringMatching(/agent.*: \w/) })
    expect(host).not.toHaveProperty('tookMs')
  })

  it('tries no UDP port and says why', async () => {
    const probes = await probed(5353, { protocol: 'udp' })
    expect(probes).toMatchObject([
      { to: '127.0.0.1:5353', state: 'not-tried', detail: UDP_NOT_TESTABLE },
      { to: 'web:443', state: 'not-tried', detail: UDP_NOT_TESTABLE },
    ])
  })

  it('reaches a port for programs of the host alone where the host is this computer', async () => {
    const hostPort = await listening((socket) => socket.on('error', () => {}))
    expect((await probed(hostPort, { scope: 'loopback' }))[0]).toMatchObject({ state: 'open' })
  })

  it('of no port says that there is none', async () => {
    await expect(client.ports.probePort({ id: 'f'.repeat(32) })).rejects.toThrow(/no published port/)
  })
})
