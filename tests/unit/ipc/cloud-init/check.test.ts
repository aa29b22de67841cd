import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkUserData, MOST_FINDINGS, refusalOf } from '../../../../src/ipc/cloud-init/check.ts'
import type { Finding } from '../../../../src/ipc/cloud-init/finding.ts'
import type { CloudInitCase, Expected } from './cases/cloud-init-case.ts'
import { RIGHT } from './cases/right.ts'
import { WRONG_CONFIG } from './cases/wrong-config.ts'
import { WRONG_ENVELOPE } from './cases/wrong-envelope.ts'
import { WRONG_YAML } from './cases/wrong-yaml.ts'

const WRONG = [...WRONG_ENVELOPE, ...WRONG_YAML, ...WRONG_CONFIG]
const brief = (found: Finding[]): Expected[] => found.map(({ line, rule, severity }) => [line, rule, severity])

/** The text with every edit of the finding made. */
function mended(text: string, { edits = [] }: Finding): string {
  return edits
    .toSorted((a, b) => b.start - a.start || b.end - a.end)
    .reduce((now, { start, end, text: put }) => now.slice(0, start) + put + now.slice(end), text)
}

const withFix = WRONG.filter((c): c is CloudInitCase & { input: string } => typeof c.input === 'string').flatMap((c) =>
  checkUserData(c.input)
    .filter((finding) => finding.edits !== undefined)
    .map((finding) => ({ name: `${c.name}: ${finding.rule}`, input: c.input, finding })),
)

describe('user-data that is wrong', () => {
  it.each(WRONG)('$name is told on its line', ({ input, expect: expected }) => {
    expect(brief(checkUserData(input))).toEqual(expected)
  })

  it.each(WRONG)('$name has a sentence to do something about it', ({ input }) => {
    for (const { what, fix } of checkUserData(input)) {
      expect(what).toMatch(/^\S.*[^.\s]$/)
      expect(fix).toMatch(/^[A-Z].*\.$/)
    }
  })

  it.each(withFix)('$name is gone once its edits are made', ({ input, finding }) => {
    const after = checkUserData(mended(input, finding))
    expect(after.filter((f) => f.rule === finding.rule && f.line === finding.line)).toEqual([])
  })
})

describe('user-data that is right', () => {
  it.each(RIGHT)('$name has nothing said of it', ({ input }) => {
    expect(checkUserData(input)).toEqual([])
  })
})

describe('the checker', () => {
  it('has at least 32 wrong and 12 right examples', () => {
    expect(WRONG.length).toBeGreaterThanOrEqual(32)
    expect(RIGHT.length).toBeGreaterThanOrEqual(12)
  })

  it('takes any bytes and text and places every finding inside them', () => {
    const pieces = fc.constantFrom(...WRONG.map((c) => c.input).filter((i) => typeof i === 'string'))
    const any = fc.oneof(
      fc.uint8Array({ maxLength: 2000 }),
      fc.string({ unit: 'binary', maxLength: 500 }),
      fc.tuple(pieces, fc.nat(), fc.string({ maxLength: 4 })).map(([text, at, put]) => {
        const place = at % (text.length + 1)
        return (text.slice(0, place) + put + text.slice(place)).slice(0, 70_000)
      }),
    )
    fc.assert(
      fc.property(any, (input) => {
        const text = typeof input === 'string' ? input : new TextDecoder('utf-8', { ignoreBOM: true }).decode(input)
        const lines = text.split('\n').length
        for (const { line, column = 1, edits = [] } of checkUserData(input)) {
          expect(line).toBeGreaterThanOrEqual(1)
          expect(line).toBeLessThanOrEqual(lines)
          expect(column).toBeGreaterThanOrEqual(1)
          for (const { start, end } of edits) expect(0 <= start && start <= end && end <= text.length).toBe(true)
        }
      }),
      { seed: 4, numRuns: 1500 },
    )
  })

  it('says of blanks that they are nothing', () => {
    expect(brief(checkUserData(' \n\n'))).toEqual([[1, 'empty', 'warning']])
  })

  it('says the same of text and of its bytes', () => {
    for (const { input } of [...WRONG, ...RIGHT])
      if (typeof input === 'string')
        expect(checkUserData(new TextEncoder().encode(input))).toEqual(checkUserData(input))
  })

  it('repeats no value, whatever is wrong with it', () => {
    const secret = 'hunter2zq'
    const places = [
      `password: ${secret}: x`,
      `password: @${secret}`,
      `password: *${secret}`,
      `password: !${secret} x`,
      `password: "${secret}`,
      `chpasswd: {list: "root:${secret}"}`,
      `users:\n  - name: a\n    plain_text_passwd: ${secret}`,
      `users:\n  - name: a\n    passwd: [${secret}]`,
      `runcmd:\n  - echo pass: ${secret}`,
      `runcmd: ${secret}`,
      `timezone: ${secret}`,
      `ssh_pwauth: ${secret}`,
      `ssh_authorized_keys: [${secret}]`,
      `write_files:\n  - path: /a\n    permissions: ${secret}\n    content:\n     - ${secret}`,
      `write_files:\n  - content: ${secret}`,
      `- ${secret}`,
    ]
    for (const place of places) {
      const found = checkUserData(`#cloud-config\n${place}\n`)
      expect(found.length).toBeGreaterThan(0)
      expect(JSON.stringify(found)).not.toContain(secret)
    }
    expect(JSON.stringify(checkUserData(`export PASSWORD=${secret}\n`))).not.toContain(secret)
  })

  it('stops at a hundred findings and keeps the errors', () => {
    const many = `#cloud-config\n${Array.from({ length: 300 }, (_, i) => `strange${i}: 1\n`).join('')}runcmd: x\n`
    const found = checkUserData(many)
    expect(found).toHaveLength(MOST_FINDINGS)
    expect(refusalOf(found)?.rule).toBe('wrong-shape')
  })

  it('is not led into the depths by nesting or by references to references', () => {
    expect(brief(checkUserData(`#cloud-config\na: ${'['.repeat(15_000)}`))).toEqual([[2, 'syntax', 'error']])
    expect(brief(checkUserData(`#cloud-config\n${'- '.repeat(7_000)}`))).toEqual([[2, 'syntax', 'error']])
    const bomb = Array.from({ length: 30 }, (_, i) => `k${i}: &k${i} [${i === 0 ? 'x' : `*k${i - 1}, *k${i - 1}`}]\n`)
    expect(checkUserData(`#cloud-config\n${bomb.join('')}`)).toHaveLength(30)
    const keys = Array.from({ length: 2500 }, (_, i) => `strange${i}: 1`)
    const often = `#cloud-config\nusers: [&a {${keys.join(',')}}${',*a '.repeat(7_000)}]\n`
    expect(checkUserData(often)).toHaveLength(MOST_FINDINGS)
  })
})
