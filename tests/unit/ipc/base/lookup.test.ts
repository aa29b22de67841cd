import { describe, expect, it } from 'vitest'
import { lookup } from '../../../../src/ipc/base/lookup.ts'
import { actWords, policyWords } from '../../../../src/ipc/clock-words.ts'

describe('a word from elsewhere', () => {
  const table = { known: 'yes' }

  it('finds its own entry, and none that every object has', () => {
    expect(lookup(table, 'known')).toBe('yes')
    for (const word of ['unknown', 'constructor', 'toString', '__proto__']) expect(lookup(table, word)).toBeUndefined()
  })

  it('as the cause of an act or as a policy is shown as the word it is, or not at all', () => {
    expect(actWords({ cause: 'constructor', means: 'none', result: 'failed', detail: '' })).toBe(
      'left alone (constructor)',
    )
    expect(policyWords('toString')).toBe('')
  })
})
