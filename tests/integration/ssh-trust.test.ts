import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { DesiredState } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import {
  type CertificateBody,
  certificateLine,
  parseCertificateLine,
  refusalOf,
  signCertificate,
} from '../../src/main/control/trust/openssh/certificate.ts'
import { readKrl, revokes, writeKrl } from '../../src/main/control/trust/openssh/krl.ts'
import { parsePrivateKey } from '../../src/main/control/trust/openssh/private-key.ts'
import { blobOf } from '../../src/main/control/trust/openssh/public-key.ts'
import { fleetClient } from '../../src/main/fleet-client.ts'
import { type GuestSshd, newKeyFiles, type SshCall, ssh, startGuestSshd } from '../support/guest-sshd.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-trust-'))
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

const impossible =
  process.getuid?.() !== 0
    ? 'sshd needs root'
    : fs.existsSync('/usr/sbin/sshd')
      ? undefined
      : 'there is no /usr/sbin/sshd'

function newCa(name: string, type: string, bits?: string) {
  const files = newKeyFiles(dir, name, type, bits)
  const parsed = parsePrivateKey(files.privateKey, '')
  if (parsed.kind !== 'key') throw new Error(JSON.stringify(parsed))
  return { ...files, key: parsed.key }
}

const blobIn = (line: string) => Buffer.from(line.split(' ')[1] ?? '', 'base64')
const now = () => BigInt(Math.floor(Date.now() / 1000))
const body = (change: Partial<CertificateBody> = {}): CertificateBody => ({
  kind: 'user',
  serial: 7n,
  keyId: 'a test',
  principals: ['root'],
  validAfter: now() - 60n,
  validBefore: now() + 600n,
  criticalOptions: {},
  extensions: ['permit-pty', 'permit-port-forwarding'],
  ...change,
})

describe.skipIf(impossible)('sshd and ssh of OpenSSH', { timeout: 60_000 }, () => {
  const person = newKeyFiles(dir, 'person')
  const stranger = newKeyFiles(dir, 'stranger')
  let certificates = 0
  /** A file of its own for each certificate, as ssh wants it. */
  const inFile = (line: string) => {
    const file = path.join(dir, `cert-${certificates++}-cert.pub`)
    fs.writeFileSync(file, `${line}\n`)
    return file
  }

  describe.each([
    ['ed25519', undefined],
    ['ecdsa', '256'],
    ['ecdsa', '521'],
    ['rsa', '2048'],
  ])('with CAs of %s %s', (type, bits) => {
    const name = `${type}${bits ?? ''}`
    const [ca, otherTenant] = [newCa(`${name}-user`, type, bits), newCa(`${name}-other`, type, bits)]
    const [hostCa, otherHostCa] = [newCa(`${name}-host`, type, bits), newCa(`${name}-other-host`, type, bits)]
    const [web, db] = [newKeyFiles(dir, `${name}-web`), newKeyFiles(dir, `${name}-db`)]
    const hostBody = (names: string[], change: Partial<CertificateBody> = {}) =>
      body({ kind: 'host', principals: names, extensions: [], ...change })
    const hostCertificate = (key: { line: string }, names: string[], signer = hostCa, change = {}) =>
      certificateLine(signCertificate(signer.key, blobIn(key.line), hostBody(names, change)), '')
    const REVOKED = 2n ** 63n + 5n
    const krl = writeKrl({
      ...{ version: 1n, generatedAt: now(), comment: '' },
      revoked: [{ caBlob: blobOf(ca.key), serials: [REVOKED] }],
    })
    const trusting = { hostKey: web.privateKey, hostCertificate: hostCertificate(web, ['default.web']), krl }
    const known = [`@cert-authority default.web,default.db ${hostCa.line}`]
    let guest: GuestSshd

    beforeAll(async () => {
      guest = await startGuestSshd({ ...trusting, userCas: [ca.line] })
    })
    afterAll(() => guest?.[Symbol.asyncDispose]())

    const login = (call: Partial<SshCall> = {}) =>
      ssh(dir, { port: guest.port, key: person.file, knownHosts: known, alias: 'default.web', ...call })
    const signed = (change: Partial<CertificateBody> = {}, signer = ca, key = person) =>
      certificateLine(signCertificate(signer.key, blobIn(key.line), body(change)), 'x')

    it.each([
      ['within its window', () => signed(), undefined],
      ['from the first second of its window', () => signed({ validAfter: now() }), undefined],
      ['whose serial is not the revoked one', () => signed({ serial: REVOKED - 1n }), undefined],
      ['for several names, one of which is asked for', () => signed({ principals: ['alice', 'root'] }), undefined],
      ['before its window', () => signed({ validAfter: now() + 120n }), 'not-yet-valid'],
      ['after its window', () => signed({ validBefore: now() - 5n }), 'expired'],
      ['at the very second its window ended', () => signed({ validBefore: now() }), 'expired'],
      ['for another name', () => signed({ principals: ['alice'] }), 'wrong-principal'],
      ['for a name that is longer', () => signed({ principals: ['root2', 'roo'] }), 'wrong-principal'],
      ['whose serial is revoked', () => signed({ serial: REVOKED }), 'revoked'],
      ['of another tenant’s CA', () => signed({}, otherTenant), 'unknown-ca'],
      ['of the host CA', () => signed({}, hostCa), 'unknown-ca'],
      ['that is for hosts', () => signed({ kind: 'host', extensions: [] }), 'wrong-kind'],
      [
        'with an option nobody knows',
        () => signed({ criticalOptions: { 'no-such@example.org': 'x' } }),
        'critical-option',
      ],
    ] as const)('treat a user’s certificate %s as we say', async (_, make, refused) => {
      const line = make()
      const verdict = refusalOf(parseCertificateLine(line)!, {
        kind: 'user',
        cas: [blobOf(ca.key)],
        principal: 'root',
        now: Date.now(),
        isRevoked: ({ caBlob, serial }) => revokes(readKrl(krl)!, caBlob, serial),
      })
      expect(verdict).toBe(refused)
      const { code, err } = await login({ certificate: inFile(line) })
      expect([code, err]).toEqual(refused ? [255, expect.stringContaining('Permission denied')] : [0, ''])
    })

    it('refuse a certificate whose key somebody else holds, a forged one, and a key without one', async () => {
      const certificate = inFile(signed())
      const [type, encoded = ''] = signed().split(' ')
      const bytes = Buffer.from(encoded, 'base64')
      bytes.writeBigUInt64BE(bytes.readBigUInt64BE(bytes.length - 40) ^ 1n, bytes.length - 40)
      const forged = inFile(`${type} ${bytes.toString('base64')}`)
      for (const call of [{ key: stranger.file, certificate }, { certificate: forged }, {}])
        expect((await login(call)).code, JSON.stringify(call)).toBe(255)
      expect((await login({ certificate })).code).toBe(0)
    })

    it('refuse what was good a moment ago from the login after its revocation on', async () => {
      const certificate = inFile(signed({ serial: 99n }))
      expect((await login({ certificate })).code).toBe(0)
      const section = { caBlob: blobOf(ca.key), serials: [REVOKED, 99n] }
      guest.revoke(writeKrl({ version: 2n, generatedAt: now(), comment: '', revoked: [section] }))
      expect((await login({ certificate })).code).toBe(255)
      expect(guest.log()).toContain('revoked')
      guest.revoke(krl)
    })

    it('trust a guest by its certificate alone, and ask nobody', async () => {
      const certificate = inFile(signed())
      expect(await login({ certificate })).toEqual({ code: 0, out: '', err: '' })
      const wrongCa = [`@cert-authority default.web ${otherHostCa.line}`]
      for (const call of [
        { knownHosts: wrongCa },
        { knownHosts: [] },
        { alias: 'default.db' },
        { alias: 'other.web' },
      ]) {
        const refused = await login({ certificate, ...call })
        expect([refused.code, refused.err], JSON.stringify(call)).toEqual([
          255,
          expect.stringContaining('Host key verification failed'),
        ])
      }
    })

    it('take another guest on the same address and port for what it is, and never for the one before', async () => {
      const certificate = inFile(signed())
      await guest.become({
        ...trusting,
        hostKey: db.privateKey,
        hostCertificate: hostCertificate(db, ['default.db']),
        userCas: [ca.line],
      })
      expect(await login({ certificate, alias: 'default.db' })).toEqual({ code: 0, out: '', err: '' })
      expect((await login({ certificate, alias: 'default.web' })).err).toContain('Host key verification failed')
      const forged = hostCertificate(db, ['default.web'], otherHostCa)
      await guest.become({ ...trusting, hostKey: db.privateKey, hostCertificate: forged, userCas: [ca.line] })
      expect((await login({ certificate, alias: 'default.web' })).err).toContain('Host key verification failed')
      await guest.become({ ...trusting, userCas: [ca.line] })
      expect((await login({ certificate })).code).toBe(0)
    })

    it('trust a guest whose certificate has ended by the key its host reported', async () => {
      const certificate = inFile(signed())
      const ended = hostCertificate(web, ['default.web'], hostCa, { validBefore: now() - 5n })
      await guest.become({ ...trusting, hostCertificate: ended, userCas: [ca.line] })
      expect((await login({ certificate })).err).toContain('Host key verification failed')
      const pinned = [...known, `default.web ${web.line}`]
      expect((await login({ certificate, knownHosts: pinned })).code).toBe(0)
      const { hostCertificate: _, ...without } = trusting
      await guest.become({ ...without, userCas: [ca.line] })
      expect((await login({ certificate, knownHosts: pinned })).code).toBe(0)
      await guest.become({ ...without, hostKey: db.privateKey, userCas: [ca.line] })
      expect((await login({ certificate, knownHosts: pinned })).err).toContain('Host key verification failed')
      await guest.become({ ...trusting, userCas: [ca.line] })
    })
  })

  describe('with what the fleet issues, told and revoked', () => {
    let rack: ScriptedHost
    let guest: GuestSshd
    let id: string
    const hostKey = newKeyFiles(dir, 'guest')
    const state = (): DesiredState => rack.agent.snapshots.at(-1)!.state!
    const spec = () => state().vms.find((vm) => vm.vmId === id)!
    const issue = (change: object = {}) =>
      rack.client.trust.issueCertificate({ vm: 'web1', publicKey: person.line, ...change })
    const enter = (answer: Awaited<ReturnType<typeof issue>>, call: Partial<SshCall> = {}) =>
      ssh(dir, {
        ...{ port: guest.port, key: person.file, certificate: inFile(answer.certificate) },
        ...{ knownHosts: answer.knownHosts, alias: answer.sshName, ...call },
      })

    beforeAll(async () => {
      rack = await ScriptedHost.open()
      id = await rack.vm('web1')
      rack.agent.report({ vms: [{ vmId: id, phase: 'creating', hostPublicKey: `${hostKey.line} web1` }] })
      await vi.waitFor(() => expect(spec().sshHostCert).not.toBe(''))
      guest = await startGuestSshd({
        hostKey: hostKey.privateKey,
        hostCertificate: spec().sshHostCert,
        userCas: spec().sshUserCaAuthorizedKeys,
        krl: writeKrl({ version: 0n, generatedAt: 0n, comment: '', revoked: [] }),
      })
    })
    afterAll(async () => {
      await guest?.[Symbol.asyncDispose]()
      await rack?.[Symbol.asyncDispose]()
    })

    it('let a person in under both names of the VM, and say in the log of the guest who it was', async () => {
      const answer = await issue()
      for (const alias of ['default.web1', 'web1.eitri'])
        expect(await enter(answer, { alias }), alias).toEqual({ code: 0, out: '', err: '' })
      expect(guest.log()).toContain(
        `Accepted certificate ID "${answer.issued?.keyId}" (serial ${answer.issued?.serial})`,
      )
    })

    it('give a terminal and forwarded ports, and no agent', async () => {
      const answer = await issue()
      const terminal = await enter(answer, { options: ['RequestTTY=force'], command: ['tty'] })
      expect(terminal.out).toMatch(/^\/dev\/(pts|ttyp)/)
      const forward = await enter(answer, {
        options: [`LocalForward=${path.join(dir, 'f.sock')} 127.0.0.1:${guest.port}`, 'ExitOnForwardFailure=yes'],
      })
      expect(forward.code).toBe(0)
      const agent = await enter(answer, {
        options: ['ForwardAgent=yes'],
        command: ['sh', '-c', '"echo [$SSH_AUTH_SOCK]"'],
      })
      expect(agent.out).toBe('[]\n')
    })

    it('keep out another login, another tenant, and whoever was revoked', async () => {
      const good = await issue()
      expect((await enter(await issue({ login: 'nobody' }))).code).toBe(255)
      await rack.client.tenants.createTenant({ name: 'lab' })
      const lab = fleetClient(rack.apiSocket, { client: 'api', tenant: 'lab' })
      const theirs = await lab.trust.issueCertificate({ publicKey: person.line })
      expect((await enter({ ...good, certificate: theirs.certificate })).code).toBe(255)
      expect((await enter(good)).code).toBe(0)
      await rack.client.trust.revokeCertificate({ serial: good.issued!.serial })
      await vi.waitFor(() => expect(state().sshKrl.length).toBeGreaterThan(0))
      guest.revoke(state().sshKrl)
      expect((await enter(good)).code).toBe(255)
      expect((await enter(await issue())).code).toBe(0)
    })

    it('never lock out by a rotation of the CAs', async () => {
      const before = await issue()
      await rack.client.trust.createCa({ kind: 'user', name: 'next', makeSigning: true })
      await rack.client.trust.createCa({ kind: 'host', name: 'next-host', makeSigning: true })
      expect((await enter(before)).code).toBe(0)
      expect((await enter(await issue())).code).toBe(0)
      await rack.client.trust.retireCa({ ca: 'host-ca' })
      expect((await enter(await issue())).code).toBe(0)
    })
  })
})
