import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Desktop } from '../support/eitri.ts'
import { connected } from '../support/fleet.ts'

const BOOT_MS = 150_000
const POLL_MS = 250

describe('a task of this computer, and a control plane that is killed', { timeout: 300_000 }, () => {
  let desktop: Desktop

  beforeAll(async () => {
    desktop = await new Desktop().start()
    await desktop.must(['host', 'add', 'here', '--local'], { timeoutMs: 90_000 })
    await connected(desktop, 'here')
    await desktop.buildTiny()
  }, 300_000)
  afterAll(async () => await desktop?.close(), 60_000)

  const tasks = async () => (await desktop.must(['task', 'list'])).tasks
  const taskOf = async (kind: string) => (await tasks()).find((task: { kind: string }) => task.kind === kind)
  async function ended(id: string) {
    const deadline = Date.now() + BOOT_MS
    for (;;) {
      const task = await desktop.must(['task', 'show', id])
      if (task.ended_at) return task
      if (Date.now() > deadline) throw new Error(`${id} is still ${JSON.stringify(task)}`)
      await delay(POLL_MS)
    }
  }
  /** The agent of this computer outlives the control plane; stopped, it does nothing meanwhile. */
  const agent = (signal: string) => {
    const all = execFileSync('pgrep', ['-a', '-f', path.dirname(desktop.home)], { encoding: 'utf8' })
      .trim()
      .split('\n')
    const pids = all.filter((line) => line.includes('eitri-agent')).map((line) => line.split(' ')[0] ?? '')
    execFileSync('kill', [`-${signal}`, ...pids])
  }

  it('goes on as the same task, and is done when the guest runs', async () => {
    agent('STOP')
    try {
      await desktop.must(['vm', 'create', 'web'])
      const before = await taskOf('create_vm')
      expect(before).toMatchObject({ subject: 'web', state: 'running' })
      await desktop.stop('SIGKILL')
      await desktop.start()
      const after = await taskOf('create_vm')
      expect(after).toMatchObject({ id: before.id, state: 'running', created_at: before.created_at, user: before.user })
      const [entry] = (await desktop.must(['audit', '--result', 'running'])).entries
      expect(entry).toMatchObject({ action: 'vm.create', task_id: before.id })
    } finally {
      agent('CONT')
    }
    const { id } = await taskOf('create_vm')
    const done = await ended(id)
    expect([done.state, done.steps.map((step: { state: string }) => step.state)]).toEqual([
      'done',
      ['done', 'done', 'done'],
    ])
    expect((await desktop.must(['vm', 'show', 'web'])).power).toBe('running')
    const [entry] = (await desktop.must(['audit', '--action', 'vm.create'])).entries
    expect(entry).toMatchObject({ result: 'done', task_id: id })
    expect(Number(entry.took_ms)).toBeGreaterThan(0)
  })

  it('of a stop that ended while nobody watched is done from the first report', async () => {
    await desktop.must(['vm', 'stop', 'web', '--force'])
    const { id } = await taskOf('stop_vm')
    await desktop.stop('SIGKILL')
    await desktop.start()
    expect((await ended(id)).state).toBe('done')
  })
})
