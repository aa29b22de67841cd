import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isKrl } from '../../../../src/agent/reconcile/krl.ts'

/** As ssh-keygen writes one that revokes serials and a whole key. */
function byOpenSsh(): Buffer {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-krl-'))
  const keygen = (...args: string[]) => execFileSync('ssh-keygen', ['-q', ...args], { cwd: dir })
  keygen('-t', 'ed25519', '-N', '', '-f', 'ca')
  keygen('-t', 'ed25519', '-N', '', '-f', 'key')
  writeFileSync(
    join(dir, 'spec'),
    `serial: 7\nserial: 10-2000\nid: dana\nkey: ${readFileSync(join(dir, 'key.pub'), 'utf8')}`,
  )
  keygen('-k', '-f', 'list', '-s', 'ca.pub', 'spec')
  const list = readFileSync(join(dir, 'list'))
  rmSync(dir, { recursive: true })
  return list
}

describe('a list of revoked certificates', () => {
  const list = byOpenSsh()

  it('is one as OpenSSH writes it, or none at all', () => {
    expect(isKrl(list)).toBe(true)
    expect(isKrl(new Uint8Array())).toBe(true)
  })

  it.each([
    ['a text', Buffer.from('ssh-ed25519 AAAA dana\n')],
    ['of a later format', Buffer.from(list).fill(9, 8, 12)],
    ['longer than it says', Buffer.concat([list, Buffer.from([1])])],
    ['with a section of another kind', Buffer.concat([list, Buffer.from([9, 0, 0, 0, 0])])],
  ])('%s is none: a guest with that in its place would let nobody in', (_, bytes) => {
    expect(isKrl(bytes)).toBe(false)
  })

  it('cut short anywhere is none', () => {
    // Without its last sections it is a list still.
    const whole = Array.from({ length: list.length }, (_, at) => at).filter((at) => isKrl(list.subarray(0, at)))
    expect(whole.length).toBeLessThan(6)
  })

  it('of any bytes never raises', () => {
    const magic = list.subarray(0, 44)
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        (tail) => typeof isKrl(Buffer.concat([magic, tail])) === 'boolean',
      ),
    )
  })
})
