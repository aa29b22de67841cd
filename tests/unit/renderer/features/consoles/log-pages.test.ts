import { describe, expect, it } from 'vitest'
import {
  LOG_PAGE_BYTES,
  linesWith,
  logLines,
  pageAfter,
  pageBefore,
} from '../../../../../src/renderer/features/consoles/log-pages.ts'

const lines = (text: string) => logLines(new TextEncoder().encode(text))

describe('pages of a log', () => {
  it('go back from the newest to the oldest byte that is kept, and forth again', () => {
    const head = 1000n
    const end = head + LOG_PAGE_BYTES + 10n
    const newest = pageBefore(end, head)!
    expect(newest).toEqual({ from: head + 10n, until: end })
    expect(pageBefore(newest.from, head)).toEqual({ from: head, until: head + 10n })
    expect(pageBefore(head, head)).toBeUndefined()
    expect(pageAfter(head + 10n, end)).toEqual(newest)
    expect(pageAfter(end, end)).toBeUndefined()
  })
})

describe('lines of a log', () => {
  it('are what is read of it, without colours, titles and moves', () =>
    expect(lines('\x1b[32m OK \x1b[0mStarted\r\n\x1b]0;title\x07login: \x1b[2K\r\n')).toEqual([
      ' OK Started',
      'login: ',
    ]))

  it('are the last state of what was written over', () =>
    expect(lines('10 %\r50 %\r100 %\r\n\nnext')).toEqual(['100 %', '', 'next']))

  it('are found with their numbers, whatever their case', () => {
    expect(linesWith(['a', 'Kernel panic', 'b'], 'panic')).toEqual([{ number: 2, text: 'Kernel panic' }])
    expect(linesWith(['a', 'b'], ' ')).toHaveLength(2)
  })
})
