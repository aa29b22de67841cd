import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BUILD_INFO } from '../../src/agent/build-info.ts'
import { type HostAccess, thisHost } from '../../src/agent/install/host-access.ts'
import { install } from '../../src/agent/install/install.ts'
import { startDetached } from '../../src/agent/install/start.ts'
import { uninstall } from '../../src/agent/install/uninstall.ts'
import { linuxProcesses } from '../../src/agent/os/process.ts'
import { askStatus, statusJson } from '../../src/agent/status/agent-status.ts'

const program = { kind: 'source', file: resolve('src/agent/index.ts'), node: process.execPath } as const

let home: string
let host: HostAccess
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'eitri-home-'))
  const here = thisHost()
  host = { ...here, login: { ...here.login, home }, init: 'none', cronRuns: async () => false }
})
afterEach(async () => {
  await uninstall({ host, user: true, purge: true })
  rmSync(home, { recursive: true, force: true })
})

describe('an agent installed for one login, for real', () => {
  it('runs in a session of its own, is found by status, comes back after a kill, and goes away whole', async () => {
    const stateDir = join(home, '.local/state/eitri')
    const socket = join(stateDir, 'run/agent.sock')
    expect(statusJson(socket, await askStatus(socket))).toMatchObject({ running: false, reason: 'missing' })

    const installed = await install({ host, program, ...BUILD_INFO, user: true, start: true })
    expect(installed).toMatchObject({ running: true, socket, state_dir: stateDir, started_by: 'app' })
    const first = statusJson(socket, await askStatus(socket))
    expect(first).toMatchObject({ running: true, fleet_id: '', vms: 0, attached: false, state_dir: stateDir })
    expect(first['facts']).toMatchObject({ platform: 'linux', started_by: 'app' })
    const pid = first['pid'] as number
    const session = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/\(.*\)/, 'x')
      .split(' ')[5]
    expect(Number(session)).toBe(pid)

    const command = { command: [installed.executable], stateDir, socket }
    expect((await startDetached(command)).pid).toBe(pid)
    const processes = linuxProcesses()
    processes.signal('agent.kill', processes.identify(pid)!, 'SIGKILL')
    const back = await startDetached(command)
    expect(back.pid).not.toBe(pid)
    expect(back.hostId).toBe(first['host_id'])

    const gone = await uninstall({ host, user: true, purge: true })
    expect(gone).toEqual({ removed: expect.arrayContaining(['the running agent', stateDir]), left: [] })
    expect(processes.identify(back.pid)).toBeUndefined()
    expect(readdirSync(join(home, '.local/bin'))).toEqual([])
  })

  it('says in one sentence why it does not start, with the last word of its own log', async () => {
    const socket = join(home, 'x'.repeat(100), 'agent.sock')
    const command = { command: [program.node, program.file], stateDir: join(home, 'state'), socket }
    const fault = await startDetached(command).catch((error: unknown) => error)
    expect(fault).toMatchObject({ code: 'agent/install-failed' })
    expect(String(fault)).toMatch(/does not start: .*107 bytes/)
  })
})
