import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { FakeFleetServer } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

let fleet: FakeFleetServer
beforeEach(async () => {
  fleet = await FakeFleetServer.start()
})
afterEach(() => fleet.stop())

async function eitri(...argv: string[]) {
  const io = new FakeTerminal()
  io.stdin.end()
  await runCli(argv, {
    io,
    now: () => 0,
    apiSocket: () => fleet.socketPath,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  })
  return { out: io.out, json: () => JSON.parse(io.out) as any }
}

describe('what is in use', () => {
  it('is told of a VM as it was measured: 64-bit strings in JSON, and nothing for what was not measured', async () => {
    fleet.vm({ name: 'web-1', metrics: { cpuTimeMs: 0n, cpuBusyPermille: 1234, rssBytes: 2n ** 60n } })
    fleet.vm({ name: 'web-2' })
    const metrics = { cpu_time_ms: '0', cpu_busy_permille: 1234, rss_bytes: '1152921504606846976' }
    expect((await eitri('vm', 'show', 'web-1', '--json')).json().metrics).toEqual(metrics)
    expect((await eitri('vm', 'show', 'web-2', '--json')).json()).not.toHaveProperty('metrics')
    expect((await eitri('vm', 'show', 'web-1')).out).toMatch(
      /\ntakes: +123\.4 % of one CPU, 1099511627776 MiB memory\n/,
    )
    expect((await eitri('vm', 'show', 'web-2')).out).not.toContain('takes')
  })

  it('is told of a host the same way', async () => {
    const gib = 1024n ** 3n
    const metrics = { cpuBusyPermille: 118, memTotalBytes: 8n * gib, memAvailableBytes: 6n * gib, load1: 0 }
    fleet.hosts.set('h1', create(HostSchema, { id: 'h1', name: 'rack', metrics, guestCidr: '10.77.1.0/24' }))
    expect((await eitri('host', 'show', 'rack', '--json')).json().metrics).toEqual({
      cpu_busy_permille: 118,
      load1: 0,
      mem_total_bytes: '8589934592',
      mem_available_bytes: '6442450944',
    })
    expect((await eitri('host', 'list', '--json')).json().hosts[0].metrics).toHaveProperty('cpu_busy_permille', 118)
    const { out } = await eitri('host', 'show', 'rack')
    expect(out).toMatch(/\nin use: +11\.8 % CPU, 2048 MiB memory, load 0\.00\n/)
    expect(out).toMatch(/\nguest network: +10\.77\.1\.0\/24\n/)
  })
})
