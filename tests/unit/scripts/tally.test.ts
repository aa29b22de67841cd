import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { allowedSkips, closingLine, forbiddenSkips, sum } from '../../../scripts/tally.ts'

const PAGE = `# Verified

| Test | Reason |
|---|---|
| not this table | x |

## Allowed skips

Words.

| Test | Reason |
|---|---|
| a host with KVM | no /dev/kvm |
|  spaced  |  also read  |

## After

| other | table |
`

describe('the closing line of npm test', () => {
  it('is the sum of every runner', () => {
    const one = { passed: 2, failed: 0, skipped: 1, skips: [{ title: 'a', reason: 'r' }], failures: [] }
    const total = sum([one, { passed: 3, failed: 1, skipped: 0, skips: [], failures: ['b'] }])
    expect(closingLine(total)).toBe('5 passed, 1 failed, 1 skipped')
    expect(total.skips).toEqual(one.skips)
    expect(total.failures).toEqual(['b'])
  })
})

describe('allowed skips', () => {
  it('are the rows of their own table and of no other', () => {
    expect(allowedSkips(PAGE)).toEqual([
      { title: 'a host with KVM', reason: 'no /dev/kvm' },
      { title: 'spaced', reason: 'also read' },
    ])
    expect(allowedSkips('# nothing')).toEqual([])
  })

  it('allow a test by the start of its title and its exact reason', () => {
    const skip = (title: string, reason: string) => ({ title, reason })
    const skips = [
      skip('a host with KVM > runs guests', 'no /dev/kvm'),
      skip('a host with KVM > runs guests', 'felt like it'),
      skip('another', ''),
    ]
    expect(forbiddenSkips(skips, allowedSkips(PAGE))).toEqual(skips.slice(1))
  })

  it('can be read from the page as it is', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/verified.md'), 'utf8')
    expect(page).toContain('## Allowed skips')
    for (const { title, reason } of allowedSkips(page)) expect([title, reason]).not.toContain('')
  })
})
