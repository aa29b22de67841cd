import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ControlProcess } from '../../../../src/main/shell/control-process.ts'

class FakeChild extends EventEmitter {
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  killed = false

  kill(): boolean {
    this.killed = true
    queueMicrotask(() => this.emit('exit', 0))
    return true
  }

  async ready(line: object): Promise<void> {
    this.stdout.write(
      `noise\n${JSON.stringify({ ready: true, attached: false, pid: 1, api_socket: '/run/a', ...line })}\n`,
    )
    await vi.advanceTimersByTimeAsync(0)
  }
}

let children: FakeChild[]
let control: ControlProcess
const onReady = vi.fn()
const onFailed = vi.fn()
const last = () => children.at(-1)!

beforeEach(() => {
  vi.useFakeTimers()
  vi.clearAllMocks()
  children = []
  control = new ControlProcess({
    fork: () => {
      children.push(new FakeChild())
      return last()
    },
    onReady,
    onFailed,
  })
  control.start()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the control plane of the desktop app', () => {
  it('is at hand once it says so', async () => {
    expect(control.socketPath).toBeUndefined()
    await last().ready({})
    expect(control.socketPath).toBe('/run/a')
    expect(onReady).toHaveBeenCalledOnce()
  })

  it('is started again when it ends by itself, without opening another window', async () => {
    await last().ready({})
    last().emit('exit', 1)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(children).toHaveLength(2)
    await last().ready({})
    expect(onReady).toHaveBeenCalledOnce()
  })

  it('is reported with its last words when it never got ready', async () => {
    last().stderr.write('The disk is full.\n')
    await vi.advanceTimersByTimeAsync(0)
    last().emit('exit', 1)
    expect(onFailed).toHaveBeenCalledWith('The disk is full.')
  })

  it('is left alone when it was running before the app, and replaced when it is gone', async () => {
    await last().ready({ attached: true })
    last().emit('exit', 0)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(children).toHaveLength(1)
    await control.stop()
    expect(last().killed).toBe(false)
  })

  it('is forked here once the one it was attached to is gone', async () => {
    await last().ready({ attached: true })
    last().emit('exit', 0)
    control.lost()
    control.lost()
    expect(children).toHaveLength(2)
  })

  it('is stopped with the app and not started again', async () => {
    await last().ready({})
    await control.stop()
    expect(last().killed).toBe(true)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(children).toHaveLength(1)
  })

  it('does not hold the app up for more than 6 s', async () => {
    await last().ready({})
    last().kill = () => true
    const stopped = control.stop()
    await vi.advanceTimersByTimeAsync(6_000)
    await stopped
  })
})
