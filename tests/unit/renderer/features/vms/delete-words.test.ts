import { describe, expect, it } from 'vitest'
import { deleteWords } from '../../../../../src/renderer/features/vms/delete-words.ts'

const NOW = new Date(2026, 11, 1, 14, 2).getTime()

describe('what deleting a VM means', () => {
  it('is a quarantine, with its length and its end', () =>
    expect(deleteWords(7 * 86_400, NOW)).toMatchObject({
      kept: 'for 7 d, until 8 Dec 14:02',
      button: 'Move to quarantine',
    }))

  it('says no length that is not known yet', () => expect(deleteWords(undefined, NOW).kept).toBe(''))

  it('is the end of it where nothing is kept', () => {
    const words = deleteWords(0, NOW)
    expect(words).toMatchObject({ kept: 'not at all', button: 'Destroy it' })
    expect(words.meaning).toContain('Nothing brings it back')
  })
})
