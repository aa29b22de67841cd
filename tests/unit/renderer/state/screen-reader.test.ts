import { describe, expect, it } from 'vitest'
import { readerWords, readsAloud } from '../../../../src/renderer/state/screen-reader.ts'

describe('consoles read aloud', () => {
  it('as the system says, unless a person chose', () => {
    expect([readsAloud('auto', true), readsAloud('auto', false)]).toEqual([true, false])
    expect([readsAloud('off', true), readsAloud('on', false)]).toEqual([false, true])
  })

  it('only by choice in a browser, which says so', () => {
    expect(readsAloud('auto', undefined)).toBe(false)
    expect(readerWords('auto', undefined)).toContain('A browser does not say whether a reader runs: choose On')
    expect(readerWords('auto', true)).toContain('a screen reader runs.')
    expect(readerWords('off', true)).toContain('Off by your choice')
  })
})
