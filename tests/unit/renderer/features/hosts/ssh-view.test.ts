import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { PinnedHostKeySchema, ShowSshResponseSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import {
  carrierWords,
  credentialWords,
  secretsWords,
  sshRows,
  verifiedWords,
} from '../../../../../src/renderer/features/hosts/ssh-view.ts'
import { aHost, at } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30, 12)
const DAY = 86_400_000

describe('the way of ssh in words', () => {
  it('has no row for what is not there', () => {
    const ssh = create(ShowSshResponseSchema, {
      address: '10.0.2.7',
      port: 22,
      user: 'ops',
      hostKeyName: '10.0.2.7',
      sshClient: 'ssh2',
    })
    expect(sshRows(ssh).map(([label]) => label)).toEqual(['Address', 'Port', 'User', 'Keys', 'Carried by'])
  })

  it('says the way through other hosts, and why the own ssh carries it', () => {
    const ssh = create(ShowSshResponseSchema, {
      ...{ address: 'a', port: 22, user: 'ops', jump: ['ops@b', 'c'], hostKeyName: 'alias' },
      ...{ sshClient: 'openssh', sshClientDetail: 'a hardware key signs in there' },
    })
    const rows = new Map(sshRows(ssh))
    expect(rows.get('Through')).toBe('ops@b → c')
    expect(rows.get('Key filed under')).toBe('alias')
    expect(rows.get('Carried by')).toContain('a hardware key signs in there')
  })

  it('says what carries it now', () => {
    expect(carrierWords({ kind: 'local', carrier: 'unix', sshClient: '' })).toContain('unix socket')
    expect(carrierWords({ kind: 'ssh', carrier: 'stdio', sshClient: 'openssh' })).toContain('rpc --stdio')
    expect(carrierWords({ kind: 'ssh', carrier: '', sshClient: '' })).toBe('not connected')
  })
})

describe('how a host key is verified', () => {
  const pinned = create(PinnedHostKeySchema, {
    fingerprint: 'SHA256:a',
    how: 'accepted',
    firstSeen: at(Date.UTC(2026, 2, 2, 12)),
  })
  it('is by a person, by known_hosts or by an authority', () => {
    expect(verifiedWords(aHost({ hostKeyFingerprint: 'SHA256:a' }), [pinned])).toBe(
      'accepted by you, first seen 2026-03-02, unchanged',
    )
    expect(verifiedWords(aHost({ hostKeyFingerprint: 'SHA256:b' }), [pinned])).toContain('certificate authority')
    expect(verifiedWords(aHost({ hostKeyFingerprint: '' }), [])).toBe('not known yet')
  })
  it('is not called unchanged once the host answers with another', () => {
    expect(verifiedWords(aHost({ hostKeyFingerprint: 'SHA256:a', link: 'key_changed' }), [pinned])).not.toContain(
      'unchanged',
    )
  })
})

describe('a credential in words', () => {
  it('warns before its end and says when it is over', () => {
    const key = (days: number) =>
      credentialWords(aHost({ credential: 'key', credentialEndsAt: at(NOW + days * DAY) }), NOW)
    expect(key(90).tone).toBe('plain')
    expect(key(9)).toMatchObject({ tone: 'warn', text: expect.stringContaining('(9 d)') })
    expect(key(-1).tone).toBe('bad')
  })
  it('names a login, a revoked one and where secrets are', () => {
    expect(credentialWords(aHost({ credential: 'login' }), NOW).text).toContain('your SSH login')
    expect(credentialWords(aHost({ credential: 'revoked' }), NOW).tone).toBe('bad')
    expect(secretsWords(aHost({ secretsKept: 'keychain' }))).toContain('keychain')
    expect(secretsWords(aHost())).toBe('none are kept')
  })
})
