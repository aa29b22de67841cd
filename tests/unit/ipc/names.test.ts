import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  connectName,
  isFingerprint,
  isId,
  isLogin,
  isName,
  isSha256,
  sshHostName,
  vmOfSshHost,
} from '../../../src/ipc/names.ts'

describe('names', () => {
  it.each(['a', 'web-12', '0', `a${'b'.repeat(62)}`])('DM-01: takes the RFC 1123 label %s', (text) => {
    expect(isName(text)).toBe(true)
  })

  it.each(['', '-rf', 'a-', '$(id)', 'Web', 'a_b', 'a.b', 'ä', 'a b', 'a\n', `a${'b'.repeat(63)}`])(
    'DM-01: refuses %j as a name',
    (text) => {
      expect(isName(text)).toBe(false)
    },
  )

  it('never takes a name that a shell or an option parser could read otherwise', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        if (isName(text)) expect(text).toMatch(/^[a-z0-9][a-z0-9-]*$/)
      }),
    )
  })

  it('takes a digest only as 64 lowercase hex characters', () => {
    expect(isSha256('0f'.repeat(32))).toBe(true)
    expect(isSha256('0F'.repeat(32))).toBe(false)
    expect(isSha256('0f'.repeat(31))).toBe(false)
  })

  it('takes an id only as 32 lowercase hex characters', () => {
    expect(isId('0f'.repeat(16))).toBe(true)
    expect(isId('0f'.repeat(15))).toBe(false)
  })

  it('takes a fingerprint as OpenSSH prints it', () => {
    expect(isFingerprint(`SHA256:${'A'.repeat(43)}`)).toBe(true)
    expect(isFingerprint(`MD5:${'A'.repeat(43)}`)).toBe(false)
  })

  it('joins tenant and name into the name a guest is reached by', () => {
    expect(connectName('default', 'web')).toBe('default.web')
  })

  it('what people type after ssh names one VM of one tenant, and leads back to it', () => {
    expect([sshHostName('default', 'web'), sshHostName('lab', 'web')]).toEqual(['web.eitri', 'web.lab.eitri'])
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/)
    fc.assert(
      fc.property(label, label, (tenant, vm) => {
        expect(vmOfSshHost(sshHostName(tenant, vm))).toEqual({ tenant, vm })
      }),
    )
    for (const other of [
      'web',
      'eitri',
      '.eitri',
      'a.b.c.eitri',
      'Web.eitri',
      '-.eitri',
      'web..eitri',
      'web.eitri.example',
    ])
      expect(vmOfSshHost(other)).toBeUndefined()
  })

  it.each([
    ['root', true],
    ['dana@corp.example', true],
    ['CORP\\dana', true],
    ['', false],
    ['-oProxyCommand=x', false],
    ['a b', false],
    ["a'b", false],
    ['../x', false],
    ['a/b', false],
    ['x'.repeat(65), false],
  ])('%j is a login: %s', (text, is) => {
    expect(isLogin(text)).toBe(is)
  })
})
