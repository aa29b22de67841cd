import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { trustAnswer, trustScript } from '../../../../src/agent/guest/trust-script.ts'
import { fleetPayload } from '../../../../src/agent/seed/fleet-payload.ts'
import { type GuestTrustFiles, revokedList } from '../../../../src/agent/seed/ssh-trust.ts'
import { GuestRoot } from '../../../support/guest-root.ts'

const CA = 'ssh-ed25519 AAAACA fleet'
const OLD = 'ssh-ed25519-cert-v01@openssh.com AAAAOLD web'
const NEW = 'ssh-ed25519-cert-v01@openssh.com AAAANEW web'
const LIST = Buffer.from('SSHKRL\n\0\x01\xff\x80', 'latin1')
const DROP_IN = 'etc/ssh/sshd_config.d/10-eitri.conf'
const KRL = 'etc/ssh/eitri_revoked_keys'
const CERTIFICATE = 'etc/ssh/ssh_host_ed25519_key-cert.pub'

const trust = (change: Partial<GuestTrustFiles> = {}): GuestTrustFiles => ({
  userCas: [CA],
  hostCertificate: OLD,
  revoked: revokedList(new Uint8Array()),
  ...change,
})

describe('what a running guest is brought', () => {
  let guest: GuestRoot
  beforeEach(() => {
    guest = new GuestRoot()
    const ssh = { userCas: [CA], hostKey: { privateKey: 'k', certificate: OLD } }
    guest.run(fleetPayload({ vmId: 'a'.repeat(32), clock: 'auto', ssh }))
    guest.write(CERTIFICATE, `${OLD}\n`)
    rmSync(join(guest.root, 'calls'))
  })
  afterEach(() => guest[Symbol.dispose]())
  const run = (change?: Partial<GuestTrustFiles>) => trustAnswer(guest.run(trustScript(trust(change))))
  const reloads = () => guest.calls().filter((call) => call.startsWith('systemctl reload'))

  it('is nothing when its seed said the same', () => {
    const before = guest.files('etc/ssh').map((name) => statSync(join(guest.root, 'etc/ssh', name)).ino)
    expect(run()).toEqual({ outcome: 'written', krlSha256: revokedList(new Uint8Array()).sha256 })
    expect(guest.files('etc/ssh').map((name) => statSync(join(guest.root, 'etc/ssh', name)).ino)).toEqual(before)
    expect(guest.calls()).toEqual([])
  })

  it('is the list of revoked certificates, byte for byte, for which sshd need not be told', () => {
    const revoked = revokedList(LIST)
    expect(run({ revoked })).toEqual({ outcome: 'written', krlSha256: revoked.sha256 })
    expect(guest.bytes(KRL)).toEqual(LIST)
    expect(statSync(join(guest.root, KRL)).mode & 0o777).toBe(0o644)
    expect(reloads()).toEqual([])
    run()
    expect(guest.bytes(KRL).length).toBe(0)
  })

  it('is another certificate of its host key, and sshd reads it', () => {
    expect(run({ hostCertificate: NEW })).toMatchObject({ outcome: 'written' })
    expect(guest.read(CERTIFICATE)).toBe(`${NEW}\n`)
    expect(reloads()).toHaveLength(1)
    run({ hostCertificate: NEW })
    expect(reloads()).toHaveLength(1)
  })

  it('is the setting too, in a guest whose seed is of before there were lists', () => {
    guest.write(DROP_IN, `TrustedUserCAKeys ${guest.root}/etc/ssh/eitri_user_ca.pub\n`)
    rmSync(join(guest.root, KRL))
    guest.program('sshd', `test -e ${guest.root}/${KRL} || exit 1`)
    expect(run({ revoked: revokedList(LIST) })).toMatchObject({ outcome: 'written' })
    expect(guest.read(DROP_IN)).toContain('\nRevokedKeys ')
    expect(guest.bytes(KRL)).toEqual(LIST)
    expect(reloads()).toHaveLength(1)
  })

  it('is taken back where sshd refuses it, which then goes on with what it had', () => {
    const before = 'TrustedUserCAKeys /elsewhere\n'
    guest.write(DROP_IN, before)
    guest.program('sshd', `grep -q RevokedKeys ${guest.root}/${DROP_IN} && { echo "line 2: no" >&2; exit 1; }; exit 0`)
    expect(run()).toEqual({ outcome: 'failed', detail: 'sshd refuses its settings: line 2: no' })
    expect(guest.read(DROP_IN)).toBe(before)
    expect(reloads()).toEqual([])
  })

  it('is nothing at all where the fleet’s settings are not wanted, or not there yet', () => {
    rmSync(join(guest.root, DROP_IN))
    expect(run({ revoked: revokedList(LIST) })).toEqual({ outcome: 'absent' })
    expect(guest.read(KRL)).toBe('')
  })

  it('fails with words where a file cannot be written, and the others stay whole', () => {
    rmSync(join(guest.root, KRL))
    mkdirSync(join(guest.root, `${KRL}.eitri`))
    expect(run({ revoked: revokedList(LIST), hostCertificate: NEW })).toEqual({
      outcome: 'failed',
      detail: expect.stringMatching(/eitri_revoked_keys cannot be written$/),
    })
    expect(guest.read(CERTIFICATE)).toBe(`${OLD}\n`)
  })

  it('leaves nothing beside the files it writes', () => {
    run({ revoked: revokedList(LIST), hostCertificate: NEW })
    const names = ['eitri_revoked_keys', 'eitri_user_ca.pub', 'ssh_host_ed25519_key-cert.pub', 'sshd_config.d']
    expect(guest.files('etc/ssh')).toEqual(names)
    expect(guest.files('etc/ssh/sshd_config.d')).toEqual(['10-eitri.conf'])
  })
})

describe('what a guest says of it', () => {
  it.each([
    ['', 'its shell says nothing'],
    ['written abc', 'its shell says something else'],
    [`failed ${'x'.repeat(500)}`, 'x'.repeat(200)],
    ['failed \x1b[2J\x07', '?[2J?'],
  ])('%j is a failure', (said, detail) => {
    expect(trustAnswer(said)).toEqual({ outcome: 'failed', detail })
  })
})
