import { describe, expect, it } from 'vitest'
import { suggestedBackup } from '../../../../../src/renderer/features/settings/backup-path.ts'
import {
  graceChoices,
  graceEffect,
  isShorter,
  retentionChoices,
  retentionWords,
} from '../../../../../src/renderer/features/settings/periods.ts'
import { PART_TITLES, SETTINGS_ENTRIES } from '../../../../../src/renderer/features/settings/settings-entries.ts'
import { redactedWords } from '../../../../../src/renderer/features/settings/support-words.ts'
import { SETTINGS_PARTS } from '../../../../../src/renderer/routes.ts'

describe('quarantine', () => {
  it('says what holds from now on, and what stays', () => {
    expect(graceEffect(7 * 86_400)).toBe(
      'A VM deleted from now on can be brought back for 7 d. Those in quarantine keep the time they have.',
    )
    expect(graceEffect(0)).toContain('destroyed at once, and nothing brings it back')
  })

  it('offers what is set by other means too, and none last', () => {
    expect(graceChoices(5 * 86_400)).toContain(5 * 86_400)
    expect(graceChoices(0).at(-1)).toBe(0)
    expect(new Set(graceChoices(3600)).size).toBe(graceChoices(3600).length)
  })
})

describe('how long activity is kept', () => {
  it.each([
    [30, '30 days'],
    [365, '1 year'],
    [1095, '3 years'],
    [0, 'for ever'],
  ])('%i is %s', (days, words) => expect(retentionWords(days)).toBe(words))

  it('offers what is set by other means too', () => expect(retentionChoices(45)).toEqual([30, 45, 90, 365, 1095, 0]))

  it.each([
    [30, 365, true],
    [365, 30, false],
    [0, 365, false],
    [365, 0, true],
    [30, 30, false],
  ])('%i in place of %i removes entries: %s', (next, current, removes) =>
    expect(isShorter(next, current)).toBe(removes),
  )
})

describe('what was taken out of a file', () => {
  it('is told with what matters most first', () => {
    expect(redactedWords({ name: 12, text: 1, secret: 1, address: 2 })).toBe(
      '1 text that could be a secret, 2 addresses, 12 names, 1 other text',
    )
  })

  it('is nothing where nothing was, and a kind of a later version by its own word', () => {
    expect([redactedWords({}), redactedWords({ name: 0 }), redactedWords({ place: 2 })]).toEqual([
      'nothing',
      'nothing',
      '2 place',
    ])
  })
})

describe('settings for the palette', () => {
  it('are there for every part, each by a name of its own', () => {
    expect(new Set(SETTINGS_ENTRIES.map(({ part }) => part))).toEqual(new Set(SETTINGS_PARTS))
    expect(new Set(SETTINGS_ENTRIES.map(({ text }) => text)).size).toBe(SETTINGS_ENTRIES.length)
    expect(Object.keys(PART_TITLES)).toEqual([...SETTINGS_PARTS])
  })
})

it.each([
  ['/home/ada/.local/share/eitri', '/home/ada/.local/share/eitri-backup-2026-11-30.db'],
  ['/data/', '/eitri-backup-2026-11-30.db'],
])('a backup of %s is suggested beside it, not in it', (dataDir, path) => {
  expect(suggestedBackup(dataDir, new Date(2026, 10, 30))).toBe(path)
})
