import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type EndableProcess, onInterrupt } from '../../../../src/main/cli/io.ts'

class FakeProcess extends EventEmitter implements EndableProcess {
  readonly exits: number[] = []
  exit(code: number): void {
    this.exits.push(code)
  }
}

function aCommand() {
  const proc = new FakeProcess()
  const time = { now: 0 }
  let asked = 0
  const release = onInterrupt(
    proc,
    () => time.now,
    () => asked++,
  )
  return { proc, time, release, asked: () => asked }
}

describe('an interrupted command', () => {
  it.each([
    ['SIGINT', 'SIGINT', 130],
    ['SIGTERM', 'SIGTERM', 143],
    ['SIGTERM', 'SIGINT', 130],
  ])('is asked to end by %s and ends at once by another %s', (first, second, code) => {
    const { proc, time, asked } = aCommand()
    proc.emit(first)
    expect([asked(), proc.exits]).toEqual([1, []])
    time.now = 1_000
    proc.emit(second)
    expect([asked(), proc.exits]).toEqual([1, [code]])
  })

  it('takes one key press that arrives twice for one', () => {
    const { proc, time, asked } = aCommand()
    proc.emit('SIGINT')
    time.now = 20
    proc.emit('SIGINT')
    expect([asked(), proc.exits]).toEqual([1, []])
  })

  it('listens no more once it is released', () => {
    const { proc, release } = aCommand()
    release()
    expect(proc.listenerCount('SIGINT') + proc.listenerCount('SIGTERM')).toBe(0)
  })
})
