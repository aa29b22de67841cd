import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { askStatus, statusJson, statusText } from '../../../../src/agent/status/agent-status.ts'
import { describeSocketError, socketProblem } from '../../../../src/agent/status/socket-problem.ts'
import { GetStatusResponseSchema } from '../../../../src/ipc/gen/eitri/agent/v1/host_pb.js'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-status-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('asking for an agent that is not there', () => {
  it('tells no socket from a dead one', async () => {
    expect(await askStatus(join(dir, 'none.sock'))).toEqual({ running: false, reason: 'missing' })
    writeFileSync(join(dir, 'dead.sock'), '')
    expect(await askStatus(join(dir, 'dead.sock'))).toEqual({ running: false, reason: 'refused' })
  })

  it('gives up on somebody who listens but does not answer', async () => {
    const open: Socket[] = []
    const server = createServer((socket) => open.push(socket))
    server.listen(join(dir, 'silent.sock'))
    await once(server, 'listening')
    expect(await askStatus(join(dir, 'silent.sock'), 200)).toEqual({ running: false, reason: 'silent' })
    for (const socket of open) socket.destroy()
    server.close()
  })

  it('finds the reason at any depth of cause', () => {
    const denied = Object.assign(new Error('connect'), { code: 'EACCES' })
    expect(socketProblem(new Error('a', { cause: new Error('b', { cause: denied }) }))).toBe('denied')
    expect(socketProblem('odd')).toBe('silent')
    expect(describeSocketError('/s', 'denied')).toBe('The socket /s may not be opened by this user.')
  })
})

describe('what an agent says of itself', () => {
  const status = create(GetStatusResponseSchema, {
    agentVersion: '1.2.3',
    pid: 7,
    stateDir: '/var/lib/eitri',
    fleetId: 'f'.repeat(32),
    vms: 3,
    vmsRunning: 2,
    lastSeenEpoch: 9n,
    facts: { hostname: 'h\x1b[31mx', os: 'Debian', arch: 'x86_64', kernel: '6.1', startedBy: 'cron', runsAs: 'bob' },
  })

  it('is JSON with plain numbers', () => {
    expect(JSON.parse(JSON.stringify(statusJson('/s', { running: true, status })))).toMatchObject({
      running: true,
      last_seen_epoch: 9,
      vms: 3,
      facts: { started_by: 'cron', missing: [], vmm_version: '' },
    })
  })

  it('has what is measured of host and VMs, and no number for what is not', () => {
    const metrics = {
      load1: 0,
      memTotalBytes: 8n * 1024n ** 3n,
      memAvailableBytes: 6n * 1024n ** 3n,
      cpuBusyPermille: 94,
    }
    const measured = create(GetStatusResponseSchema, {
      ...{ guestCidr: '10.77.1.0/24', hostUplinkAddr: '192.0.2.9', metrics },
      vmMetrics: { ['a'.repeat(32)]: { cpuTimeMs: 0n, rssBytes: 5n } },
    })
    expect(statusJson('/s', { running: true, status: measured })).toMatchObject({
      guest_cidr: '10.77.1.0/24',
      host_uplink_addr: '192.0.2.9',
      vm_metrics: { ['a'.repeat(32)]: { cpu_time_ms: 0, rss_bytes: 5 } },
    })
    expect(statusJson('/s', { running: true, status: measured })['metrics']).toEqual({
      load1: 0,
      mem_total_bytes: 8589934592,
      mem_available_bytes: 6442450944,
      cpu_busy_permille: 94,
    })
    expect(statusText('/s', { running: true, status: measured })).toContain(
      'In use    9 % CPU, 2.0 GiB memory, load 0.00',
    )
    expect(statusJson('/s', { running: true, status })).not.toHaveProperty('metrics')
    expect(statusText('/s', { running: true, status })).not.toContain('In use')
  })

  it('is a few lines for people, without what a terminal would obey', () => {
    const text = statusText('/s', { running: true, status })
    expect(text).toContain('VMs       3, 2 running')
    expect(text).toContain('QEMU      not installed')
    expect(text).toContain('by cron, as bob')
    expect(text).not.toContain('\x1b')
  })
})
