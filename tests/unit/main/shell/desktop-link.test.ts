import { describe, expect, it } from 'vitest'
import { linkIn } from '../../../../src/main/shell/desktop-link.ts'

describe('a link the app is started with', () => {
  it('is the first address of ours among the arguments', () => {
    expect(linkIn(['/opt/eitri', '--data-dir', '/x', 'eitri://vm/1/console', 'eitri://vm/2'])).toBe(
      'eitri://vm/1/console',
    )
  })

  it.each([
    'https://example.org/',
    'eitri:/vm/1',
    'xeitri://vm/1',
    'eitri://vm/1"><img src=x>',
    'eitri://vm/1 --no-sandbox',
    'eitri://vm/1\n',
    `eitri://${'a'.repeat(3_000)}`,
  ])('is not %j', (arg) => {
    expect(linkIn([arg])).toBeUndefined()
  })
})
