import { describe, expect, it } from 'vitest'
import { isSlow, lastSignMs, usualOf, usualText } from '../../../../../src/renderer/features/tasks/usual.ts'
import { aTask, at } from '../../../../support/fake-fleet/rows.ts'

const done = (seconds: number, changes = {}) =>
  aTask({ kind: 'build_image', state: 'done', createdAt: at(0), endedAt: at(seconds * 1000), ...changes })

describe('how long a task usually takes', () => {
  it('comes from the tasks of its kind that were done in this fleet', () => {
    const tasks = [8, 9, 12, 14, 20].map((s) => done(s))
    const other = [done(900, { kind: 'add_host' }), done(900, { state: 'failed' })]
    expect(usualText(usualOf([...tasks, ...other], 'build_image')!)).toBe('usually 8–20 s')
  })

  it('is not said while there are too few of them', () => {
    expect(usualOf([done(8), done(9)], 'build_image')).toBeUndefined()
  })

  it.each([
    [[120, 121, 119], 'usually 1 min 59 s to 2 min 1 s'],
    [[5, 5, 5], 'usually 5 s'],
  ])('of %o reads %s', (seconds, text) => {
    expect(
      usualText(
        usualOf(
          seconds.map((s) => done(s)),
          'build_image',
        )!,
      ),
    ).toBe(text)
  })

  it('is passed by far only after three times the middle, and never while a person is asked', () => {
    const usual = usualOf(
      [8, 9, 12, 14, 20].map((s) => done(s)),
      'build_image',
    )
    const running = aTask({ kind: 'build_image' })
    expect(isSlow(running, 30_000, usual)).toBe(false)
    expect(isSlow(running, 37_000, usual)).toBe(true)
    expect(isSlow(aTask({ state: 'asking' }), 370_000, usual)).toBe(false)
    expect(isSlow(running, 370_000, undefined)).toBe(false)
  })

  it('has a last sign of life: when the task was last told of as it is', () => {
    const task = aTask()
    expect([lastSignMs(task, 100), lastSignMs(task, 5000), lastSignMs({ ...task }, 5000)]).toEqual([100, 100, 5000])
  })
})
