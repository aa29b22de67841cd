import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const CSS = readFileSync(new URL('../../../src/renderer/styles.css', import.meta.url), 'utf8')

/** The tokens a selector sets. */
function tokensOf(selector: string): Record<string, string> {
  const at = CSS.indexOf(`\n${selector} {`)
  expect(at, selector).toBeGreaterThan(-1)
  const body = CSS.slice(at, CSS.indexOf('}', at))
  return Object.fromEntries([...body.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]))
}

const light = tokensOf(':root')
const dark = { ...light, ...tokensOf('.dark') }
const THEMES: Record<string, Record<string, string>> = {
  light,
  dark,
  'high contrast light': { ...light, ...tokensOf('.high-contrast') },
  'high contrast dark': { ...dark, ...tokensOf('.high-contrast'), ...tokensOf('.high-contrast.dark') },
}

/** Relative luminance as WCAG 2.2 defines it. */
function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const GROUNDS = ['bg', 'panel', 'sunken', 'hover']
const TEXTS = ['ink', 'dim', 'faint', 'good', 'warn', 'bad', 'info', 'quiet', 'hold', 'accent']
/** On coloured buttons: text and ground. */
const ON_COLOUR: [string, string][] = [
  ['accent-ink', 'accent'],
  ['accent-ink', 'accent-hover'],
  ['panel', 'bad'],
  ['panel', 'bad-hover'],
]

const below = (theme: string, pairs: [string, string][], least: number) =>
  pairs
    .map(([a, b]) => ({ pair: `${a} on ${b}`, ratio: contrast(THEMES[theme]![a]!, THEMES[theme]![b]!) }))
    .filter(({ ratio }) => ratio < least)
    .map(({ pair, ratio }) => `${pair}: ${ratio.toFixed(2)}`)

const pairs = (over: string[]) => over.flatMap((a) => GROUNDS.map((b): [string, string] => [a, b]))

describe.each(Object.keys(THEMES))('the colours of %s', (theme) => {
  const least = theme.startsWith('high') ? 7 : 4.5

  it(`have ${least} : 1 between text and every ground it stands on`, () => {
    expect(below(theme, [...pairs(TEXTS), ...ON_COLOUR], least)).toEqual([])
  })

  it('have 3 : 1 between borders of controls, icons and the focus ring and their grounds', () => {
    expect(below(theme, pairs(['line-strong', 'accent', 'ember']), 3)).toEqual([])
  })
})

describe('high contrast', () => {
  it('draws every line so that it is seen', () => {
    for (const theme of ['high contrast light', 'high contrast dark'])
      expect(below(theme, [['line', 'bg'] as [string, string], ['line', 'panel'] as [string, string]], 3)).toEqual([])
  })
})
