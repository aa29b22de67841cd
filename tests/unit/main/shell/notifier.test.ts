import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Notifier } from '../../../../src/main/shell/notifier.ts'

class Shown extends EventEmitter {
  closed = false
  readonly words: { title: string; body: string }
  constructor(words: { title: string; body: string }) {
    super()
    this.words = words
  }
  show() {}
  close() {
    this.closed = true
  }
}

function notifier() {
  const shown: Shown[] = []
  const opened: string[] = []
  const clock = { now: 0 }
  const made = new Notifier({
    make: (words) => {
      const one = new Shown(words)
      shown.push(one)
      return one
    },
    open: (address) => opened.push(address),
    now: () => clock.now,
  })
  return { made, shown, opened, clock }
}

const notice = (id: string, title = 'web-1 crashed') => ({ id, title, body: 'on rack1', address: `eitri://vm/${id}` })

describe('the notification centre of the computer', () => {
  it('shows one notice per cause: a later one takes the place of the one before', () => {
    const { made, shown } = notifier()
    made.notify(notice('a'))
    made.notify(notice('a', 'web-1 crashed again'))
    expect(shown.map(({ words, closed }) => [words.title, closed])).toEqual([
      ['web-1 crashed', true],
      ['web-1 crashed again', false],
    ])
  })

  it('opens the object of the one that was clicked', () => {
    const { made, shown, opened } = notifier()
    made.notify(notice('a'))
    made.notify(notice('b'))
    shown[0]!.emit('click')
    expect(opened).toEqual(['eitri://vm/a'])
  })

  it.each([
    undefined,
    {},
    { ...notice('a'), address: 'https://example.org' },
    { ...notice('a'), title: '' },
    { ...notice('a'), body: 'x'.repeat(2_000) },
    { ...notice('a'), id: 7 },
  ])('shows nothing of a malformed one: %j', (asked) => {
    const { made, shown } = notifier()
    made.notify(asked)
    expect(shown).toEqual([])
  })

  it('is not flooded: at most twenty a minute', () => {
    const { made, shown, clock } = notifier()
    for (let n = 0; n < 30; n++) made.notify(notice(`n${n}`))
    expect(shown).toHaveLength(20)
    clock.now = 60_001
    made.notify(notice('later'))
    expect(shown).toHaveLength(21)
  })

  it('is left alone where the computer has none', () => {
    new Notifier({ make: undefined, open() {}, now: () => 0 }).notify(notice('a'))
  })
})
