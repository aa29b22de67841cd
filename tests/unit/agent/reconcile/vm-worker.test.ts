import { describe, expect, it } from 'vitest'
import { type Pass, VmWorker } from '../../../../src/agent/reconcile/vm-worker.ts'
import { FakeClock } from './rig.ts'

function aWorker(run: (assignment: string, pass: Pass<string>) => Promise<string | undefined>, passTimeoutMs = 0) {
  const clock = new FakeClock()
  const results: string[] = []
  const crashes: unknown[] = []
  const worker = new VmWorker<string, string>({
    run,
    supersedes: (newer) => newer === 'delete',
    hurries: (newer) => newer === 'force',
    onResult: (result) => results.push(result),
    onIdle: () => results.push('idle'),
    onCrash: (error) => crashes.push(error),
    clock,
    passTimeoutMs,
  })
  return { worker, clock, results, crashes }
}

const until = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

describe('the worker of one VM', () => {
  it('runs one pass at a time and replaces what waits', async () => {
    const seen: string[] = []
    const gate = Promise.withResolvers<void>()
    const { worker } = aWorker(async (assignment) => {
      seen.push(`begin ${assignment}`)
      if (assignment === 'one') await gate.promise
      seen.push(`end ${assignment}`)
      return assignment
    })
    for (const assignment of ['one', 'two', 'three']) worker.deliver(assignment)
    gate.resolve()
    await worker.done()
    expect(seen).toEqual(['begin one', 'end one', 'begin three', 'end three'])
    expect(worker.result).toBe('three')
  })

  it('what a pass publishes after its end is dropped', async () => {
    let late: Pass<string> | undefined
    const { worker, results } = aWorker(async (_assignment, pass) => {
      late = pass
      pass.publish('interim')
      return 'final'
    })
    worker.deliver('one')
    await worker.done()
    late?.publish('late')
    expect(results).toEqual(['interim', 'final', 'idle'])
    expect(worker.result).toBe('final')
  })

  it('a late publish of an old pass does not land in a newer one', async () => {
    const passes: Pass<string>[] = []
    const gate = Promise.withResolvers<void>()
    const { worker, results } = aWorker(async (assignment, pass) => {
      passes.push(pass)
      if (assignment === 'two') await gate.promise
      return assignment
    })
    worker.deliver('one')
    await worker.done()
    worker.deliver('two')
    passes[0]!.publish('from one')
    gate.resolve()
    await worker.done()
    expect(results).toEqual(['one', 'idle', 'two', 'idle'])
  })

  it('a pass that says nothing lets the last result stand', async () => {
    const { worker } = aWorker(async (assignment) => (assignment === 'quiet' ? undefined : assignment))
    worker.deliver('one')
    await worker.done()
    worker.deliver('quiet')
    await worker.done()
    expect(worker.result).toBe('one')
  })

  it('an assignment delivered in the very moment a pass ends is not lost', async () => {
    const seen: string[] = []
    const { worker } = aWorker(async (assignment) => {
      seen.push(assignment)
      queueMicrotask(() => seen.length < 50 && worker.deliver(`n${seen.length}`))
      return assignment
    })
    worker.deliver('n0')
    while (!worker.idle) await worker.done()
    expect(seen).toHaveLength(50)
  })

  it('the watchdog aborts a pass at its deadline, 0 never', async () => {
    const { worker, clock, crashes } = aWorker((_assignment, { signal }) => until(signal), 1_000)
    worker.deliver('one')
    clock.advance(999)
    expect(worker.idle).toBe(false)
    clock.advance(1)
    await worker.done()
    expect(crashes).toMatchObject([{ code: 'app/timeout' }])
  })

  it('a newer assignment ends a pass it makes pointless, and hurries one it does not', async () => {
    const { worker, crashes } = aWorker(async (assignment, { signal, hurry }) => {
      if (assignment === 'stop') await new Promise<void>((done) => hurry.addEventListener('abort', () => done()))
      else if (assignment === 'create') await until(signal)
      return assignment
    })
    worker.deliver('stop')
    worker.deliver('force')
    await worker.done()
    expect(worker.result).toBe('force')
    worker.deliver('create')
    worker.deliver('delete')
    await worker.done()
    expect(crashes).toMatchObject([{ code: 'app/cancelled' }])
    expect(worker.result).toBe('delete')
  })

  it('after stop nothing is taken and the pass under way has ended', async () => {
    const { worker, results } = aWorker((_assignment, { signal }) => until(signal))
    worker.deliver('one')
    await worker.stop()
    expect(worker.idle).toBe(true)
    worker.deliver('two')
    expect(worker.idle).toBe(true)
    expect(results).toEqual(['idle'])
  })

  it('a pass that throws does not take its worker with it', async () => {
    const { worker, crashes } = aWorker(async (assignment) => {
      if (assignment === 'bad') throw new Error('bug')
      return assignment
    })
    worker.deliver('bad')
    await worker.done()
    worker.deliver('good')
    await worker.done()
    expect(crashes).toHaveLength(1)
    expect(worker.result).toBe('good')
  })
})
