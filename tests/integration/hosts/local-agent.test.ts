import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/ipc/base/clock.ts'
import { Fault, findFault } from '../../../src/ipc/faults.ts'
import {
  type LocalAgentDeps,
  localConnector,
  openLocal,
  statusOf,
  stopLocal,
} from '../../../src/main/control/hosts/local-agent.ts'

const AGENT = path.resolve(import.meta.dirname, '../../../src/agent/index.ts')
const signal = new AbortController().signal
const over = new Fault('app/cancelled', 'cancelled')

describe('the agent of this computer', () => {
  let dir: string
  let buildDigest: string
  const pids = new Set<number>()
  const deps = (): LocalAgentDeps => ({
    clock: systemClock,
    program: async () => ({ command: process.execPath, args: [AGENT], buildDigest }),
  })
  const place = (startedBy = 'app') => ({
    socketPath: path.join(dir, 'agent.sock'),
    executable: '',
    stateDir: path.join(dir, 'state'),
    startedBy,
  })
  const connect = async (startedBy?: string) => {
    const link = await localConnector(deps(), 'here', place(startedBy)).connect(signal)
    const { pid } = await statusOf(link, 'here')
    pids.add(pid)
    return { link, pid }
  }
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-local-'))
    buildDigest = ''
  })
  afterEach(async () => {
    for (const pid of pids) await stopLocal(deps(), 'here', pid, signal)
    pids.clear()
    fs.rmSync(dir, { recursive: true })
  })

  it('is started when it does not listen, outlives the connection, and is started again after it was killed', async () => {
    const first = await connect()
    first.link.close(over)
    const second = await connect()
    expect(second.pid).toBe(first.pid)
    process.kill(first.pid, 'SIGKILL')
    expect((await second.link.closed).disposition).toBe('transient')
    // A killed process may take one more connection and reset it: a transient fault, after which a link tries again.
    const again = await connect().catch((error: unknown) => {
      expect(findFault(error)?.disposition).toBe('transient')
      return connect()
    })
    expect(again.pid).not.toBe(first.pid)
    again.link.close(over)
  })

  it('is replaced when it is of another build', async () => {
    const { link, pid } = await connect()
    link.close(over)
    buildDigest = 'a'.repeat(64)
    const newer = await connect()
    expect(newer.pid).not.toBe(pid)
    newer.link.close(over)
  })

  it('is left alone where a service starts it', async () => {
    await expect(connect('systemd')).rejects.toMatchObject({ code: 'agent/not-running' })
    await expect(openLocal(deps(), 'here', place().socketPath, signal)).rejects.toMatchObject({
      code: 'agent/not-running',
    })
  })
})
