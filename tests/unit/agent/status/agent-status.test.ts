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

  it('is a few lines for people, without what a terminal would obey', () => {
    const text = statusText('/s', { running: true, status })
    expect(text).toContain('VMs       3, 2 running')
    expect(text).toContain('QEMU      not installed')
    expect(text).toContain('by cron, as bob')
    expect(text).not.toContain('\x1b')
  })
})
