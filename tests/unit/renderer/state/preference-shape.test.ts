import { describe, expect, it } from 'vitest'
import { DEFAULT_PREFERENCES, MAX_VIEWS, readPreferences } from '../../../../src/renderer/state/preference-shape.ts'

const read = (stored: unknown) => readPreferences(JSON.stringify(stored))

describe('stored preferences', () => {
  it.each([
    ['nothing', null],
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
  ])('that are %s are the defaults', (_, stored) => expect(readPreferences(stored)).toEqual(DEFAULT_PREFERENCES))

  it('come back whole', () => {
    const kept = {
      ...DEFAULT_PREFERENCES,
      theme: 'dark',
      contrast: 'high',
      keys: { console: 't' },
      rail: 'narrow',
      views: { vms: [{ name: 'Mine', filter: 'label:ada' }] },
    }
    expect(read({ version: 2, ...kept })).toEqual(kept)
  })

  it('fall back one by one: a bad value never takes a good one with it', () => {
    const stored = {
      theme: 'sepia',
      density: 'compact',
      terminal: { fontSize: 400, pasteGuard: false, minimumContrast: '7' },
      notices: { kinds: { 'host-lost': false, task: 'no' }, quiet: { on: true, from: '25:00', to: '06:30' } },
    }
    const { theme, density, terminal, notices } = read(stored)
    expect({ theme, density }).toEqual({ theme: 'system', density: 'compact' })
    expect(terminal).toEqual({ ...DEFAULT_PREFERENCES.terminal, pasteGuard: false })
    expect(notices.kinds).toEqual({ ...DEFAULT_PREFERENCES.notices.kinds, 'host-lost': false })
    expect(notices.quiet).toEqual({ on: true, from: '22:00', to: '06:30' })
  })

  it('of the first version keep what they said', () => {
    expect(read({ theme: 'light', density: 'compact', singleKeys: false, screenReader: true })).toMatchObject({
      theme: 'light',
      density: 'compact',
      singleKeys: false,
      screenReader: 'on',
    })
  })

  it('hold only so many views, and only whole ones', () => {
    const views = [{ name: 'x' }, ...Array.from({ length: 40 }, (_, i) => ({ name: `v${i}`, filter: 'a' }))]
    expect(read({ views: { vms: views } }).views['vms']).toHaveLength(MAX_VIEWS)
  })
})
