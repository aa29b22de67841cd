import { expect, it } from 'vitest'
import { fileOf, MAX_FILE_CHARS } from '../../../../../src/main/control/support/bundle-file.ts'
import { Labels } from '../../../../../src/main/control/support/labels.ts'

const file = (lines: Iterable<string>) => fileOf(new Labels(), 'a.txt', 'What it is.', () => lines)

it('a file of a bundle is bounded, and says how much is left out', async () => {
  const { text } = await file(Array.from({ length: 30 }, () => 'x'.repeat(MAX_FILE_CHARS / 20 - 1)))
  expect(text.length).toBeLessThan(MAX_FILE_CHARS + 100)
  expect(text.endsWith('\n(10 more lines are left out)\n')).toBe(true)
})

it('a file that holds nothing says so', async () => expect((await file([])).text).toBe('none\n'))

it('what was taken out is counted for each file by itself, with labels that are the same in all', async () => {
  const labels = new Labels()
  const write = (name: string) => fileOf(labels, name, '', (r) => [r.sentence('10.0.0.1')])
  expect([await write('a'), await write('b')].map(({ text, redacted }) => [text, redacted])).toEqual([
    ['address-1\n', { address: 1 }],
    ['address-1\n', { address: 1 }],
  ])
})

it('a long file lets everything else have its turn while it is made', async () => {
  let turns = 0
  const between = setInterval(() => turns++, 0)
  function* lines() {
    for (let i = 0; turns === 0 && i < 100_000; i++) yield `${i}`
  }
  await file(lines())
  clearInterval(between)
  expect(turns).toBeGreaterThan(0)
})
