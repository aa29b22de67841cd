import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { faultText } from '../../../../../src/ipc/fault-text.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { actingAs } from '../../../../../src/main/control/store/actor.ts'
import type { TaskContext, TaskRun } from '../../../../../src/main/control/tasks/task-context.ts'
import { TaskRunner } from '../../../../../src/main/control/tasks/task-runner.ts'
import { ManualClock, until } from '../a-clock.ts'
import { aStore, faultOf } from '../a-store.ts'

function aRunner() {
  const { tasks: store, db, audit } = aStore()
  const clock = new ManualClock()
  const runner = new TaskRunner(store, clock, silentLog)
  const start = (run: TaskRun) => runner.start('default', 'add_host', 'rack', run)
  return { runner, store, db, audit, clock, start }
}
const stateOf = (runner: TaskRunner, id: string) =>
  runner.get('default', id).steps.map((step) => `${step.name}: ${step.state}`)
/** Ends when the task is cancelled, never by itself. */
const forever = (task: TaskContext) =>
  new Promise<never>((_, reject) => task.signal.addEventListener('abort', () => reject(task.signal.reason)))

describe('tasks', () => {
  it('name every step ahead, and end done with what they made', async () => {
    const { runner, store, start } = aRunner()
    const id = start(async (task) => {
      task.plan(['Look', 'Install', 'Report'])
      await task.step('Look', async ({ detail }) => detail('Debian 12'))
      task.skip('Install', 'already there')
      expect(stateOf(runner, id)).toEqual(['Look: done', 'Install: skipped', 'Report: waiting'])
      return task.step('Report', async () => ({ resultId: 'h1' }))
    })
    expect(runner.get('default', id).state).toBe('running')
    expect(await runner.ended(id)).toBeUndefined()
    expect(store.find(id)).toMatchObject({ state: 'done', resultId: 'h1', steps: [{ detail: 'Debian 12' }, {}, {}] })
    expect(store.find(id)?.endedAt).not.toBeNull()
  })

  it('keep what a step said, line by line, what it looked at and what it puts where', async () => {
    const { runner, store, start } = aRunner()
    const id = start(async (task) => {
      await task.step('Look', async (step) => {
        for (const said of ['one', 'two', 'two']) step.detail(said)
        step.checks([{ name: 'Disk', state: 'ok', detail: '9 GB', command: '' }])
        step.shows({ facts: [{ name: 'Path', value: '/opt' }], script: 'true' })
      })
      return task.step('Talk', async (step) => {
        for (let i = 0; i < 60; i++) step.detail(`line ${i}`)
        return { resultId: '' }
      })
    })
    await runner.ended(id)
    const [look, talk] = store.find(id)?.steps ?? []
    expect(look).toMatchObject({ log: ['one', 'two'], detail: 'two', script: 'true' })
    expect([look?.checks, look?.facts]).toEqual([
      [{ name: 'Disk', state: 'ok', detail: '9 GB', command: '' }],
      [{ name: 'Path', value: '/opt' }],
    ])
    expect([talk?.log?.length, talk?.log?.at(0), talk?.log?.at(-1)]).toEqual([50, 'line 10', 'line 59'])
  })

  it('end failed with the fault of the step that failed', async () => {
    const { runner, start } = aRunner()
    const id = start((task) =>
      task.step('Reach', async () => {
        throw new Fault('host/unreachable', 'transient', { address: 'a:22' })
      }),
    )
    expect((await runner.ended(id))?.code).toBe('host/unreachable')
    expect(runner.get('default', id)).toMatchObject({ state: 'failed', steps: [{ state: 'failed' }] })
    expect((await runner.ended(id))?.params).toEqual({ address: 'a:22' })
  })

  it('ask one question, wait, and go on with its answer', async () => {
    const { runner, start } = aRunner()
    let secret: string | undefined
    const id = start(async (task) => {
      secret = (await task.ask({ kind: 'secret', what: 'password', of: 'ops@rack', problem: '' })).secret
      return { resultId: '' }
    })
    await until(() => runner.get('default', id).state === 'asking')
    const question = runner.get('default', id).question
    expect(question?.ask).toMatchObject({ kind: 'secret', of: 'ops@rack' })
    expect(faultOf(() => runner.answer('default', id, 'another', {})).code).toBe('task/wrong-question')
    runner.answer('default', id, question?.id ?? '', { secret: 's3cret' })
    expect(faultOf(() => runner.answer('default', id, question?.id ?? '', {})).code).toBe('task/wrong-question')
    await runner.ended(id)
    expect([secret, runner.get('default', id).state]).toEqual(['s3cret', 'done'])
  })

  it('write no answer to the store', async () => {
    const { runner, start, db } = aRunner()
    const id = start(async (task) => {
      await task.ask({ kind: 'secret', what: 'password', of: 'ops@rack', problem: '' })
      return { resultId: '' }
    })
    await until(() => runner.get('default', id).state === 'asking')
    runner.answer('default', id, runner.get('default', id).question?.id ?? '', { secret: 's3cret-marker' })
    await runner.ended(id)
    expect(JSON.stringify(db.list('SELECT * FROM tasks'))).not.toContain('s3cret-marker')
  })

  it.each(['running', 'asking'])('are cancelled while %s, again without effect', async (state) => {
    const { runner, start } = aRunner()
    const id = start((task) =>
      state === 'asking'
        ? task.ask({ kind: 'take_over', controllerName: 'x' }).then(() => forever(task))
        : forever(task),
    )
    await until(() => runner.get('default', id).state === state)
    runner.cancel('default', id)
    await runner.ended(id)
    expect(runner.cancel('default', id)).toMatchObject({ state: 'cancelled', question: null, fault: null })
  })

  it('that no next process can go on with end as interrupted, and say at which step', async () => {
    const { runner, store, clock, start } = aRunner()
    const id = start((task) => task.step('Install agent', () => forever(task)))
    await until(() => runner.get('default', id).steps.length === 1)
    const restarted = new TaskRunner(store, clock, silentLog)
    restarted.recover()
    const { state, fault } = restarted.get('default', id)
    expect([state, fault?.code]).toEqual(['failed', 'task/interrupted'])
    expect(fault?.params).toEqual({ kind: 'add_host', subject: 'rack', step: 'Install agent' })
    expect(faultText('task/interrupted', fault?.params ?? {}).effect).toContain('not in the fleet')
  })

  it.each(['killed', 'stopped'])(
    'with their input go on in the next process, the same ones, when this one is %s',
    async (how) => {
      const { runner, store, clock } = aRunner()
      const input = { name: 'tiny' }
      const id = runner.start('system', 'build_image', 'tiny', (task) => task.step('Build', () => forever(task)), input)
      await until(() => runner.get('default', id).steps.length === 1)
      const { createdAt } = runner.get('default', id)
      if (how === 'stopped') await runner.stop(1000)
      const restarted = new TaskRunner(store, clock, silentLog)
      const go = Promise.withResolvers<void>()
      restarted.goOnWith({
        build_image: (given, tenant) => async () => {
          await go.promise
          return { resultId: `${given['name']} of ${tenant}` }
        },
      })
      restarted.recover()
      expect(restarted.get('default', id)).toMatchObject({ state: 'running', createdAt })
      go.resolve()
      await restarted.ended(id)
      expect(store.find(id)).toMatchObject({ state: 'done', resultId: 'tiny of system', createdAt })
    },
  )

  it('whose input is worth nothing any more fail with what is wrong with it', async () => {
    const { runner, store, clock } = aRunner()
    const id = runner.start('default', 'push_image', 'tiny to rack', forever, { host: 'gone' })
    const restarted = new TaskRunner(store, clock, silentLog)
    restarted.goOnWith({
      push_image: ({ host = '' }) => {
        throw new Fault('host/not-found', 'permanent', { host })
      },
    })
    restarted.recover()
    expect((await restarted.ended(id))?.code).toBe('host/not-found')
  })

  it('leave the way they ended in the trail, in the name of who asked', async () => {
    const { runner, audit, clock } = aRunner()
    const asked = { user: 'ada', client: 'app' as const, requestId: 'r-1' }
    const id = actingAs(asked, () =>
      runner.start('default', 'add_host', 'rack', async (task) => {
        await task.step('Look', () => clock.sleep(3000))
        throw new Fault('host/unreachable', 'transient', { address: 'a:22' })
      }),
    )
    await until(() => clock.sleeping === 1)
    await clock.advance(3000)
    await runner.ended(id)
    const [entry] = audit.list({ limit: 1 })
    expect(entry).toMatchObject({ action: 'task.end', ...asked, taskId: id, result: 'failed' })
    expect(entry?.detail).toEqual({ name: 'rack', kind: 'add_host', took_ms: '3000' })
    expect(JSON.parse(entry?.after ?? '')).toMatchObject({
      steps: [{ name: 'Look', state: 'done', ms: 3000 }],
      fault: { code: 'host/unreachable' },
    })
  })

  it("another tenant's is none: not listed, looked at, answered or cancelled; everybody's is everyone's", async () => {
    const { runner } = aRunner()
    const [theirs, shared] = [
      runner.start('other', 'add_host', 'a', forever),
      runner.start('system', 'build_image', 'tiny', forever),
    ]
    expect(runner.list('default').map((task) => task.id)).toEqual([shared])
    expect(runner.find('default', theirs)).toBeUndefined()
    for (const work of [
      () => runner.get('default', theirs),
      () => runner.answer('default', theirs, 'q', {}),
      () => runner.cancel('default', theirs),
    ])
      expect(faultOf(work)).toMatchObject({ code: 'task/not-found', params: { task: theirs } })
    runner.cancel('default', shared)
    await runner.ended(shared)
    expect([runner.get('other', theirs).state, runner.get('other', shared).state]).toEqual(['running', 'cancelled'])
    await runner.stop(1000)
  })

  it("of one tenant, however many, push none of another's out", async () => {
    const { runner } = aRunner()
    const theirs = runner.start('other', 'add_host', 'a', async () => ({ resultId: '' }))
    await runner.ended(theirs)
    for (let n = 0; n < 201; n++)
      await runner.ended(runner.start('default', 'add_host', 'b', async () => ({ resultId: '' })))
    expect([runner.list('default').length, runner.list('other').length]).toEqual([200, 1])
  })

  it('tell of bytes without writing them, coalesced', async () => {
    const { runner, clock, start, db } = aRunner()
    const shown: string[] = []
    runner.onShown((id) => shown.push(id))
    const go = Promise.withResolvers<void>()
    const id = start((task) =>
      task.step('Upload', async ({ progress }) => {
        for (let n = 1; n <= 50; n++) progress(n, 100)
        await go.promise
        return { resultId: '' }
      }),
    )
    await until(() => shown.length > 0)
    expect([shown.length, runner.get('default', id).steps[0]?.doneBytes]).toEqual([1, 50])
    expect(db.find<{ steps: string }>('SELECT steps FROM tasks')?.steps).toContain('"doneBytes":0')
    go.resolve()
    await runner.ended(id)
    expect(clock.sleeping).toBe(0)
  })

  it('are bounded in number', () => {
    const { start } = aRunner()
    const fill = () => {
      for (let n = 0; n < 65; n++) start(forever)
    }
    expect(faultOf(fill).code).toBe('input/too-large')
  })

  it('keep the newest 200 that ended', async () => {
    const { runner, store, db, start } = aRunner()
    const template = runner.get(
      'default',
      start(async () => ({ resultId: '' })),
    )
    await runner.ended(template.id)
    db.transaction(() => {
      for (let n = 1; n <= 205; n++) {
        store.save({
          ...template,
          id: `task-${n}`,
          resultId: `${n}`,
          state: 'done',
          endedAt: new Date(Date.UTC(2050, 0, 1) + n),
        })
      }
    })
    const kept = runner.list('default').map((task) => Number(task.resultId))
    expect([kept.length, Math.max(...kept), Math.min(...kept)]).toEqual([200, 205, 6])
  })

  it('all end when the control plane stops: nobody cancelled them, and they say where they were', async () => {
    const { runner, start } = aRunner()
    const ids = [start(forever), start(forever)]
    await runner.stop(1000)
    expect(ids.map((id) => runner.get('default', id).state)).toEqual(['failed', 'failed'])
    expect(runner.get('default', ids[0] ?? '').fault?.code).toBe('task/interrupted')
  })
})
