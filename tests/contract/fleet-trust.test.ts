import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fromConnectError } from '../../src/ipc/fault-wire.ts'
import type { VmSpec } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { fingerprintOf } from '../../src/main/control/hosts/ssh/host-keys.ts'
import {
  certificateLine,
  parseCertificateLine,
  signCertificate,
} from '../../src/main/control/trust/openssh/certificate.ts'
import { readKrl, revokes } from '../../src/main/control/trust/openssh/krl.ts'
import { blobOf, canonicalLine, parsePublicKey } from '../../src/main/control/trust/openssh/public-key.ts'
import { fleetClient } from '../../src/main/fleet-client.ts'
import { rawCall } from '../support/raw-api.ts'
import { ScriptedHost } from '../support/scripted-host.ts'

const HALF_AN_HOUR_MS = 30 * 60_000
const newKey = () => generateKeyPairSync('ed25519').privateKey
const lineOf = (key = newKey()) => canonicalLine(blobOf(key))
const MINE = lineOf()

let rack: ScriptedHost
beforeEach(async () => {
  rack = await ScriptedHost.open()
})
afterEach(() => rack[Symbol.asyncDispose]())

const trust = () => rack.client.trust
const keyDir = () => join(dirname(rack.database), 'cas')
const specOf = (id: string): VmSpec | undefined => rack.agent.snapshots.at(-1)?.state?.vms.find((vm) => vm.vmId === id)
const certified = (id: string) => vi.waitFor(() => expect(specOf(id)?.sshHostCert).toMatch(/^ssh-ed25519-cert/))
const raw = async (method: string, request: object) =>
  JSON.parse(String((await rawCall(rack.apiSocket, `eitri.fleet.v1.${method}`, JSON.stringify(request))).body))
const krl = () => readKrl(rack.agent.snapshots.at(-1)?.state?.sshKrl ?? new Uint8Array())
const faultOf = (call: Promise<unknown>) => call.then(() => expect.unreachable('nothing was raised'), fromConnectError)
const cas = async (kind: string) => (await trust().listCas({})).cas.filter((ca) => ca.kind === kind)
const caNamed = async (name: string) => (await trust().listCas({})).cas.find((ca) => ca.name === name)!
const issue = async (vm = '') => {
  const answer = await trust().issueCertificate({ vm, publicKey: MINE })
  return { ...answer, says: parseCertificateLine(answer.certificate)! }
}
/** The host reports what it made of a VM. */
const reportKey = (vmId: string, hostPublicKey: string) =>
  rack.agent.report({ vms: [{ vmId, phase: 'creating', hostPublicKey }] })

describe('SSH authorities of a fleet', () => {
  it('are a host CA and a user CA from the first start, whose keys are files of their owner alone', async () => {
    const { cas: all } = await trust().listCas({})
    expect(all.map(({ kind, name, state, held, problem }) => [kind, name, state, held, problem])).toEqual([
      ['host', 'host-ca', 'signing', 'file', ''],
      ['user', 'user-ca', 'signing', 'file', ''],
    ])
    const files = fs.readdirSync(keyDir()).sort()
    expect(files).toEqual([...all.map(({ id }) => `${id}.key`), 'open.secret'].sort())
    for (const name of files) expect(fs.statSync(join(keyDir(), name)).mode & 0o777).toBe(0o600)
  })

  it('are made once: what a person retired does not come back', async () => {
    await trust().retireCa({ ca: 'user-ca' })
    rack = await again()
    expect((await cas('user')).map(({ state }) => state)).toEqual(['retired'])
  })

  it('are told to a VM as they are when it is created, and never again', async () => {
    const first = await rack.vm('first')
    await trust().createCa({ kind: 'user', name: 'next' })
    const second = await rack.vm('second')
    await vi.waitFor(() => expect(specOf(second)).toBeDefined())
    const [old, next] = await cas('user')
    expect(specOf(first)?.sshUserCaAuthorizedKeys).toEqual([old?.publicKey])
    expect(specOf(second)?.sshUserCaAuthorizedKeys.toSorted()).toEqual([old?.publicKey, next?.publicKey].toSorted())
  })

  it('are needed to create a VM: without a user CA nothing is made, and who has one again goes on', async () => {
    await trust().retireCa({ ca: 'user-ca' })
    const fault = await faultOf(rack.vm('web1'))
    expect([fault.code, fault.params]).toEqual(['ca/none', { kind: 'user', tenant: 'default' }])
    expect((await rack.client.vms.listVms({})).vms).toEqual([])
    await trust().createCa({ kind: 'user', name: 'next' })
    expect(await rack.vm('web1')).not.toBe('')
  })

  it('are frozen onto VMs that had no set recorded, whose guests were nevertheless never told of them', async () => {
    const id = await rack.vm('old')
    expect(await raw('VmService/GetVm', { vm: id })).toHaveProperty('vm.trusted_cas.public_keys')
    rack = await again(() => {
      const db = new DatabaseSync(rack.database)
      db.exec("UPDATE vms SET trusted_cas = NULL; UPDATE cas SET created_at = '2099-01-01T00:00:00.000Z'")
      db.close()
    })
    const { vm } = await rack.client.vms.getVm({ vm: id })
    expect(vm?.trustedCas?.publicKeys).toEqual([(await cas('user'))[0]?.publicKey])
    expect((await trust().listTrust({})).vms).toMatchObject([
      { cutOff: true, detail: 'It was made before the fleet had a CA, so it was never told of one.' },
    ])
  })

  it('take over from one another without cutting anybody off', async () => {
    const old = await rack.vm('old')
    await trust().createCa({ kind: 'user', name: 'next' })
    const both = await rack.vm('both')
    await trust().setSigningCa({ ca: 'next' })
    const signer = async (vm: string) => fingerprintOf((await issue(vm)).says.caBlob)
    expect(await signer(old)).toBe((await caNamed('user-ca')).fingerprint)
    expect(await signer(both)).toBe((await caNamed('next')).fingerprint)
    expect(await signer('')).toBe((await caNamed('next')).fingerprint)
    expect((await trust().listTrust({})).vms.map((vm) => [vm.vmName, vm.cutOff])).toEqual([
      ['both', false],
      ['old', false],
    ])
    expect((await cas('user')).map((ca) => [ca.name, ca.state, ca.usedBy])).toEqual([
      ['user-ca', 'trusted', 2],
      ['next', 'signing', 1],
    ])
  })

  it('are not retired while a VM trusts no other, and say which', async () => {
    await rack.vm('old')
    await trust().createCa({ kind: 'user', name: 'next', makeSigning: true })
    await rack.vm('both')
    const fault = await faultOf(trust().retireCa({ ca: 'user-ca' }))
    expect([fault.code, fault.params['vms']]).toEqual(['ca/needed', 'old'])
    expect((await trust().retireCa({ ca: 'next' })).cutOff).toEqual([])
    expect(fs.existsSync(join(keyDir(), `${(await caNamed('next')).id}.key`))).toBe(false)
    expect((await issue('both')).says).toBeDefined()
  })

  it('retired by force keep their key while a VM knows no other, and can be taken back', async () => {
    await rack.vm('old')
    expect((await trust().retireCa({ ca: 'user-ca', force: true })).cutOff).toEqual(['old'])
    const fault = await faultOf(issue('old'))
    expect([fault.code, fault.params['vm']]).toEqual(['ca/none', 'old'])
    expect((await trust().listTrust({})).vms[0]?.cutOff).toBe(true)
    expect(fs.existsSync(join(keyDir(), `${(await caNamed('user-ca')).id}.key`))).toBe(true)
    expect((await trust().setSigningCa({ ca: 'user-ca' })).ca?.state).toBe('signing')
    expect((await issue('old')).says.principals).toEqual(['root'])
  })

  it('come from elsewhere with a private key, or as a public key that signs nothing here', async () => {
    const made = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const pem = made.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'open sesame',
    }) as string
    const request = { kind: 'user', name: 'corp', privateKey: pem, makeSigning: true }
    const refused = await faultOf(trust().importCa({ ...request, passphrase: 'wrong' }))
    expect([refused.params['field'], JSON.stringify(refused)]).toEqual([
      'passphrase',
      expect.not.stringContaining('PRIVATE'),
    ])
    expect((await trust().importCa({ ...request, passphrase: 'open sesame' })).ca).toMatchObject({
      state: 'signing',
      held: 'file',
    })
    expect((await issue()).says.caBlob.equals(blobOf(made))).toBe(true)

    const theirs = lineOf()
    const elsewhere = { kind: 'user', name: 'theirs', publicKey: theirs }
    expect((await trust().importCa(elsewhere)).ca).toMatchObject({ state: 'trusted', held: 'elsewhere', problem: '' })
    expect((await faultOf(trust().setSigningCa({ ca: 'theirs' }))).code).toBe('ca/held-elsewhere')
    expect((await faultOf(trust().importCa({ ...elsewhere, name: 'again' }))).code).toBe('ca/key-taken')
    expect(await trust().importCa({ ...elsewhere, ifAbsent: true })).toMatchObject({
      created: false,
      ca: { name: 'theirs' },
    })
    const id = await rack.vm('web1')
    await vi.waitFor(() => expect(specOf(id)?.sshUserCaAuthorizedKeys).toContain(theirs))
  })

  it.each([
    ['a name that is none', { kind: 'user', name: 'Not A Name' }, 'input/invalid'],
    ['a kind that is none', { kind: 'both', name: 'a' }, 'input/invalid'],
    ['a name that is taken', { kind: 'user', name: 'user-ca' }, 'ca/name-taken'],
  ])('are not made of %s', async (_, request, code) => {
    expect((await faultOf(trust().createCa(request))).code).toBe(code)
    expect((await trust().listCas({})).cas).toHaveLength(2)
  })

  it('are as many as a guest can be told of, and no more', async () => {
    for (let i = 1; i < 16; i++) await trust().createCa({ kind: 'user', name: `ca-${i}` })
    expect((await faultOf(trust().createCa({ kind: 'user', name: 'more' }))).code).toBe('ca/too-many')
    await trust().retireCa({ ca: 'ca-1' })
    expect((await trust().createCa({ kind: 'user', name: 'more' })).created).toBe(true)
  })

  it('of one tenant are nothing to another: their names, certificates and revocations', async () => {
    await rack.client.tenants.createTenant({ name: 'lab' })
    const lab = fleetClient(rack.apiSocket, { client: 'api', tenant: 'lab' })
    const theirs = (await lab.trust.listCas({})).cas
    const ours = (await trust().listCas({})).cas
    expect(theirs.map(({ name }) => name)).toEqual(['host-ca', 'user-ca'])
    expect(theirs.some((ca) => ours.some(({ fingerprint }) => fingerprint === ca.fingerprint))).toBe(false)
    const { issued, certificate } = await issue()
    await rack.vm('web1')
    const unknown = certificateLine(signCertificate(newKey(), blobOf(newKey()), bodyOf(9n)), '')
    for (const [foreign, absent] of [
      [lab.trust.revokeCertificate({ certificate }), lab.trust.revokeCertificate({ certificate: unknown })],
      [
        lab.trust.issueCertificate({ vm: 'web1', publicKey: MINE }),
        lab.trust.issueCertificate({ vm: 'none', publicKey: MINE }),
      ],
      [lab.trust.retireCa({ ca: ours[0]!.fingerprint }), lab.trust.retireCa({ ca: 'none' })],
    ]) {
      const [one, other] = [await faultOf(foreign!), await faultOf(absent!)]
      expect([one.code, Object.keys(one.params)]).toEqual([other.code, Object.keys(other.params)])
    }
    expect((await lab.trust.listCertificates({ serial: issued!.serial })).certificates).toEqual([])
    expect((await trust().listRevoked({})).revoked).toEqual([])
  })
})

const bodyOf = (serial: bigint) => ({
  ...{ kind: 'user' as const, serial, keyId: '', principals: ['root'], criticalOptions: {}, extensions: [] },
  ...{ validAfter: 0n, validBefore: 4_000_000_000n },
})

/** The same control plane, started again on its store. */
async function again(change: () => void = () => {}): Promise<ScriptedHost> {
  return await rack.restart(change)
}

describe('a login', () => {
  it('is good for half an hour, as one user, for a terminal and forwarded ports alone', async () => {
    const id = await rack.vm('web1')
    const now = Date.now()
    const answer = await trust().issueCertificate({ vm: 'web1', publicKey: MINE, login: 'debian' })
    const says = parseCertificateLine(answer.certificate)!
    expect(says).toMatchObject({ kind: 'user', principals: ['debian'], criticalOptions: {}, signed: true })
    expect(says.extensions).toEqual(['permit-port-forwarding', 'permit-pty'])
    expect(Number(says.validBefore) * 1000 - now).toBeGreaterThan(HALF_AN_HOUR_MS - 5_000)
    expect(Number(says.validBefore) * 1000 - now).toBeLessThanOrEqual(HALF_AN_HOUR_MS + 5_000)
    expect(now - Number(says.validAfter) * 1000).toBeGreaterThanOrEqual(60_000 - 1_000)
    expect(says.keyBlob.equals(parsePublicKey(MINE)!.blob)).toBe(true)
    expect(answer).toMatchObject({ sshName: 'default.web1', clockDetail: '' })
    expect(answer.issued).toMatchObject({ serial: String(says.serial), vmId: id, keyId: says.keyId, kind: 'user' })
    const audit = (await rack.client.audit.listAudit({ vm: 'web1' })).entries.find(
      ({ action }) => action === 'cert.issue',
    )
    expect(audit?.detail).toMatchObject({ name: 'web1', login: 'debian', serial: String(says.serial) })
  })

  it.each([
    ['no key', { publicKey: 'hello' }, 'public_key'],
    ['half a key', { publicKey: MINE.slice(0, 40) }, 'public_key'],
    ['nothing', { publicKey: '' }, 'public_key'],
    ['a login that is an option', { publicKey: MINE, login: '-oProxyCommand' }, 'login'],
    ['a login of two lines', { publicKey: MINE, login: 'root\nroot' }, 'login'],
  ])('is not made for %s', async (_, request, field) => {
    const fault = await faultOf(trust().issueCertificate(request))
    expect([fault.code, fault.params['field']]).toEqual(['input/invalid', field])
  })

  it('comes with what makes a client trust the VM it is for, whatever its address', async () => {
    const id = await rack.vm('web1')
    const hostKey = lineOf()
    reportKey(id, `${hostKey} web1`)
    await certified(id)
    expect((await issue('web1')).knownHosts).toEqual([
      `@cert-authority default.web1,web1.eitri ${(await caNamed('host-ca')).publicKey}`,
      `default.web1,web1.eitri ${hostKey}`,
    ])
  })

  it('is revoked by its serial or by itself, and the list that says so reaches every host of the tenant', async () => {
    expect(krl()).toBeUndefined()
    const [one, two] = [await issue(), await issue()]
    const ca = parsePublicKey((await caNamed('user-ca')).publicKey)!.blob
    await trust().revokeCertificate({ serial: one.issued!.serial, reason: 'laptop lost' })
    await trust().revokeCertificate({ certificate: two.certificate })
    await vi.waitFor(() => expect(krl() && revokes(krl()!, ca, two.says.serial)).toBe(true))
    expect(revokes(krl()!, ca, one.says.serial)).toBe(true)
    expect(revokes(krl()!, blobOf(newKey()), one.says.serial)).toBe(false)
    const { revoked } = await trust().listRevoked({})
    expect(revoked.map(({ serial, reason }) => [serial, reason]).sort()).toEqual(
      [
        [one.issued!.serial, 'laptop lost'],
        [two.issued!.serial, ''],
      ].sort(),
    )
    expect((await trust().listCertificates({})).certificates.every((row) => row.kind === 'host' || row.revokedAt)).toBe(
      true,
    )
  })

  it('has a serial that no number of 53 bits holds, as text everywhere', async () => {
    const serial = String(2n ** 63n)
    await trust().revokeCertificate({ serial })
    expect((await trust().revokeCertificate({ serial, reason: 'again' })).revoked).toMatchObject({ serial, reason: '' })
    expect(await raw('TrustService/ListRevoked', {})).toMatchObject({ revoked: [{ serial: '9223372036854775808' }] })
    await vi.waitFor(() => expect(krl() && revokes(krl()!, blobOf(newKey()), 2n ** 63n)).toBe(true))
    for (const bad of ['0', '-1', '1e3', String(2n ** 64n), 'abc', '01'])
      expect((await faultOf(trust().revokeCertificate({ serial: bad }))).code, bad).toBe('input/invalid')
  })

  it('is not revoked by what is no certificate', async () => {
    const { certificate } = await issue()
    const forged = `${certificate.slice(0, 200)}AAAA${certificate.slice(204)}`
    for (const text of ['hello', MINE, forged]) {
      const fault = await faultOf(trust().revokeCertificate({ certificate: text }))
      expect(fault.code, text.slice(0, 40)).toBe('certificate/none')
    }
  })
})

describe('the key of a guest', () => {
  it('is certified for the name of the VM’s own row, and told to the host at once', async () => {
    const id = await rack.vm('web1')
    await vi.waitFor(() => expect(specOf(id)).toMatchObject({ hostCertRequired: true, sshHostCert: '' }))
    const key = newKey()
    reportKey(id, `${lineOf(key)} some-other-name`)
    await certified(id)
    const says = parseCertificateLine(specOf(id)!.sshHostCert)!
    expect(says).toMatchObject({
      kind: 'host',
      principals: ['default.web1', 'web1.eitri'],
      signed: true,
      extensions: [],
    })
    expect(says.keyBlob.equals(blobOf(key))).toBe(true)
    expect(fingerprintOf(says.caBlob)).toBe((await caNamed('host-ca')).fingerprint)
    const { vm } = await rack.client.vms.getVm({ vm: 'web1' })
    expect(vm).toMatchObject({ sshName: 'default.web1', hostCertificate: { serial: String(says.serial) } })
    expect((await caNamed('host-ca')).usedBy).toBe(1)
  })

  it('that is reported again and again is certified once', async () => {
    const id = await rack.vm('web1')
    const line = lineOf()
    for (let i = 0; i < 5; i++) reportKey(id, line)
    await certified(id)
    reportKey(id, line)
    const other = await rack.vm('web2')
    reportKey(other, lineOf())
    await certified(other)
    const { certificates } = await trust().listCertificates({ kind: 'host' })
    expect(certificates.filter(({ vmId }) => vmId === id)).toHaveLength(1)
  })

  it('that is no key harms only its own VM', async () => {
    const [bad, good] = [await rack.vm('bad'), await rack.vm('good')]
    rack.agent.report({
      vms: [
        { vmId: bad, phase: 'creating', hostPublicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5' },
        { vmId: good, phase: 'creating', hostPublicKey: lineOf() },
      ],
    })
    await certified(good)
    expect(specOf(bad)?.sshHostCert).toBe('')
  })

  it('is certified by the next host CA once its own is retired', async () => {
    const id = await rack.vm('web1')
    reportKey(id, lineOf())
    await certified(id)
    expect((await faultOf(trust().retireCa({ ca: 'host-ca' }))).code).toBe('ca/needed')
    await trust().createCa({ kind: 'host', name: 'next', makeSigning: true })
    expect((await trust().retireCa({ ca: 'host-ca' })).cutOff).toEqual([])
    const next = (await caNamed('next')).fingerprint
    await vi.waitFor(() => expect(fingerprintOf(parseCertificateLine(specOf(id)!.sshHostCert)!.caBlob)).toBe(next))
  })

  it('is waited for by nobody where no host CA can sign', async () => {
    await trust().retireCa({ ca: 'host-ca' })
    const id = await rack.vm('web1')
    await vi.waitFor(() => expect(specOf(id)).toMatchObject({ hostCertRequired: false }))
    await trust().createCa({ kind: 'host', name: 'next' })
    const later = await rack.vm('web2')
    await vi.waitFor(() => expect(specOf(later)).toMatchObject({ hostCertRequired: true }))
    expect(specOf(id)).toMatchObject({ hostCertRequired: false })
  })
})

describe('a private key that cannot be read', () => {
  it('makes its CA say why, and everything else goes on', async () => {
    const before = await rack.vm('before')
    const [host, user] = (await trust().listCas({})).cas
    rack = await again(() => {
      for (const ca of [host!, user!]) fs.rmSync(join(keyDir(), `${ca.id}.key`))
    })
    for (const ca of (await trust().listCas({})).cas) expect(ca.problem).toContain('a backup holds no private keys')
    const after = await rack.vm('after')
    await vi.waitFor(() => expect(specOf(after)).toMatchObject({ hostCertRequired: false }))
    expect(specOf(after)?.sshUserCaAuthorizedKeys).toEqual(specOf(before)?.sshUserCaAuthorizedKeys)
    reportKey(before, lineOf())
    rack.agent.report({ vms: [{ vmId: after, phase: 'ready', power: 'running' }] })
    await vi.waitFor(async () => expect((await rack.client.vms.getVm({ vm: 'after' })).vm?.lifecycle).toBe('ready'))
    expect((await faultOf(issue('before'))).code).toBe('ca/key-unusable')
    expect((await trust().listTrust({})).vms.map(({ cutOff }) => cutOff)).toEqual([true, true])
  })

  it('is given back by importing it again', async () => {
    const key = newKey()
    const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
    const { ca } = await trust().importCa({ kind: 'user', name: 'corp', privateKey: pem, makeSigning: true })
    await rack.vm('web1')
    rack = await again(() => fs.rmSync(join(keyDir(), `${ca!.id}.key`)))
    expect((await caNamed('corp')).problem).not.toBe('')
    expect(await trust().importCa({ kind: 'user', name: 'other', privateKey: pem })).toMatchObject({
      created: false,
      ca: { name: 'corp', problem: '', state: 'signing' },
    })
    expect((await issue('web1')).says.caBlob.equals(blobOf(key))).toBe(true)
  })
})

describe('secrets of SSH authorities', () => {
  it('are in no file but those of the keys: not in the store, its journal, a log or an answer', async () => {
    const key = newKey()
    const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
    const answers = [await trust().importCa({ kind: 'user', name: 'corp', privateKey: pem }), await trust().listCas({})]
    answers.push((await rack.client.audit.listAudit({})) as never)
    const seed = Buffer.from(key.export({ format: 'jwk' }).d!, 'base64url')
    const shapes = [
      seed,
      Buffer.from(seed.toString('base64').slice(4, 40)),
      Buffer.from(pem.split('\n')[1]!.slice(20, 60)),
    ]
    const found: string[] = []
    for (const path of fs.readdirSync(dirname(rack.database), { recursive: true, encoding: 'utf8' })) {
      const whole = join(dirname(rack.database), path)
      if (!fs.statSync(whole).isFile()) continue
      const bytes = fs.readFileSync(whole)
      if (shapes.some((shape) => bytes.includes(shape))) found.push(path)
    }
    expect(found).toEqual([])
    const said = JSON.stringify(answers, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    for (const shape of shapes) expect(said.includes(String(shape))).toBe(false)
  })
})

describe('eitri ca and eitri cert', () => {
  it('do and show all of it, in words and as documents', async () => {
    const dir = dirname(rack.database)
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'me', '-f', join(dir, 'id')])
    expect((await rack.eitri('ca', 'list')).out).toMatch(/user-ca +user +signing +file +0 VMs +SHA256:/)
    expect((await rack.eitri('--json', 'ca', 'create', 'next', '--kind', 'user')).json()).toMatchObject({
      name: 'next',
      state: 'trusted',
    })
    const again = await rack.eitri('--json', 'ca', 'create', 'next', '--kind', 'user', '--if-absent')
    expect([again.code, again.json().created]).toEqual([0, false])
    expect(await rack.eitri('ca', 'create', 'next', '--kind', 'user')).toMatchObject({ code: 1 })
    expect(await rack.eitri('ca', 'create', 'next')).toMatchObject({ code: 2 })
    expect((await rack.eitri('ca', 'use', 'next')).out).toContain('signing')
    await rack.vm('web1')
    const issued = await rack.eitri(
      'cert',
      'issue',
      'web1',
      '--key',
      join(dir, 'id.pub'),
      '--out',
      join(dir, 'id-cert.pub'),
    )
    expect(issued).toMatchObject({ code: 0, out: expect.stringMatching(/serial: +\d+/) })
    const said = execFileSync('ssh-keygen', ['-L', '-f', join(dir, 'id-cert.pub')], { encoding: 'utf8' })
    const serial = /Serial: (\d+)/.exec(said)?.[1] ?? ''
    expect((await rack.eitri('cert', 'show', serial, '--json')).json()).toMatchObject({ serial, kind: 'user' })
    expect((await rack.eitri('cert', 'list')).out).toContain(serial)
    expect((await rack.eitri('cert', 'revoke', serial, '--reason', 'test')).code).toBe(0)
    expect((await rack.eitri('cert', 'revoke', '--certificate', join(dir, 'id-cert.pub'))).code).toBe(0)
    expect((await rack.eitri('cert', 'revoked')).out).toMatch(new RegExp(`${serial} .* test`))
    expect((await rack.eitri('cert', 'trust')).out).toMatch(/web1 +(next,user-ca|user-ca,next) /)
    const refused = await rack.eitri('ca', 'retire', 'user-ca')
    expect(refused).toMatchObject({ code: 0 })
    expect(await rack.eitri('ca', 'retire', 'next')).toMatchObject({ code: 1, err: expect.stringContaining('web1') })
    expect((await rack.eitri('ca', 'retire', 'next', '--force')).out).toContain('web1')
    expect(await rack.eitri('cert', 'revoke')).toMatchObject({ code: 2 })
    expect(await rack.eitri('cert', 'show', '1')).toMatchObject({ code: 1 })
  })

  it('import a key with its passphrase from standard input, and ask nobody who is not there', async () => {
    const file = join(dirname(rack.database), 'corp')
    execFileSync('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', 'open sesame', '-a', '4', '-f', file])
    const locked = await rack.eitri('ca', 'import', 'corp', '--kind', 'user', '--private-key', file)
    expect(locked).toMatchObject({ code: 2, err: expect.stringContaining('passphrase') })
    const given = await rack.eitriWith(
      'open sesame\n',
      'ca',
      'import',
      'corp',
      '--kind',
      'user',
      '--private-key',
      file,
      '--passphrase-stdin',
      '--json',
    )
    expect(given.json()).toMatchObject({ name: 'corp', held: 'file', public_key: expect.stringContaining('nistp256') })
    expect(await rack.eitri('ca', 'import', 'half', '--kind', 'host')).toMatchObject({ code: 2 })
    const half = await rack.eitri('ca', 'import', 'half', '--kind', 'host', '--public-key', `${file}.pub`)
    expect(half).toMatchObject({ code: 1, err: expect.stringContaining('already') })
  })
})
