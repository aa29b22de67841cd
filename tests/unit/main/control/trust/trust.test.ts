import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { blobIn } from '../../../../../src/main/control/trust/authorities.ts'
import { createCa, dropUnneeded, importCa, retireCa, useCa } from '../../../../../src/main/control/trust/ca-admin.ts'
import { certificateLine, NO_END, signCertificate } from '../../../../../src/main/control/trust/openssh/certificate.ts'
import { readKrl, revokes } from '../../../../../src/main/control/trust/openssh/krl.ts'
import { blobOf, canonicalLine } from '../../../../../src/main/control/trust/openssh/public-key.ts'
import { revoke } from '../../../../../src/main/control/trust/revocations.ts'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'
import { aKeyLine, aTrust, MemoryKeys } from './a-trust.ts'

const DAY_MS = 24 * 3600_000
const named = { tenant: 'default', kind: 'user' as const, makeSigning: true, ifAbsent: false }

/** The last place where `from` stands has `to`, of the same length. */
const bytesReplaced = (bytes: Buffer, from: Buffer, to: Buffer): Buffer => {
  const made = Buffer.from(bytes)
  to.copy(made, bytes.lastIndexOf(from))
  return made
}

async function aFleet() {
  const fleet = aTrust()
  await fleet.trust.start()
  const later = async (ms: number) => {
    await fleet.clock.advance(ms)
    fleet.time.now = fleet.clock.now()
  }
  return { ...fleet, later }
}

describe('the CAs a VM trusts', () => {
  it('are frozen in the transaction of its insert: what refuses the create is what would be frozen', async () => {
    const { trust, vms, host, hosts } = await aFleet()
    await retireCa(trust.admin, 'default', 'user-ca', false)
    const { epoch } = hosts.get(host.id)
    const fault = faultOf(() => vms.create(aVm(host.id)))
    expect([fault.code, fault.params['tenant']]).toEqual(['ca/none', 'default'])
    expect([vms.listAll(), hosts.get(host.id).epoch]).toEqual([[], epoch])
  })

  it('are frozen at the opening of the store onto VMs that had none recorded, once', async () => {
    const { file, db, vms, host } = await aFleet()
    const vm = vms.create(aVm(host.id))
    db.run('UPDATE vms SET trusted_cas = NULL')
    db.close()
    const later = aStore(file)
    expect(later.vms.find(vm.id)?.trustedCas).toEqual(vm.trustedCas)
    expect(later.hosts.get(host.id).epoch).toBeGreaterThan(host.epoch)
  })

  it('stay unrecorded in a store that has no CA, until it has', async () => {
    const bare = aStore()
    const host = aTrust(bare).host
    bare.db.run(`DELETE FROM cas`)
    const keys = new MemoryKeys()
    keys.broken = 'no disk'
    bare.vms.freezeWith(() => ({ trustedCas: null as never, hostCertRequired: false }))
    const vm = bare.vms.create(aVm(host.id))
    expect(vm.trustedCas).toBeNull()
    const fleet = aTrust(bare)
    await fleet.trust.start()
    expect(bare.vms.find(vm.id)?.trustedCas).toEqual([bare.cas.signing('default', 'user')?.publicKey])
  })

  it('of a VM that brings its own stay its own', async () => {
    const { vms, host } = await aFleet()
    const own = [aKeyLine()]
    expect(vms.create(aVm(host.id, { trustedCas: own, hostCertRequired: false }))).toMatchObject({
      trustedCas: own,
      hostCertRequired: false,
    })
  })
})

describe('a CA', () => {
  it('that was retired by force loses its key when the last VM that trusts it alone is gone, quarantine included', async () => {
    const { trust, vms, host, cas, keys } = await aFleet()
    const vm = vms.create(aVm(host.id))
    await createCa(trust.admin, { ...named, name: 'next' })
    const { ca, cutOff } = await retireCa(trust.admin, 'default', 'user-ca', true)
    expect(cutOff).toEqual([vm.name])
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    await dropUnneeded(trust.admin, ca)
    expect(keys.kept.has(ca.id)).toBe(true)
    vms.reap(host.id, [vm.id])
    await dropUnneeded(trust.admin, ca)
    expect(keys.kept.has(ca.id)).toBe(false)
    expect(cas.list('default', 'user').map(({ state }) => state)).toEqual(['retired', 'signing'])
  })

  it('that came back into use keeps its key, whatever was known of it before', async () => {
    const { trust, vms, host, cas, keys } = await aFleet()
    const vm = vms.create(aVm(host.id))
    await createCa(trust.admin, { ...named, name: 'next' })
    const { ca: retired } = await retireCa(trust.admin, 'default', 'user-ca', true)
    await useCa(trust.admin, 'default', 'user-ca')
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    vms.reap(host.id, [vm.id])
    await dropUnneeded(trust.admin, retired)
    expect(keys.kept.has(retired.id)).toBe(true)
    expect(cas.signing('default', 'user')?.id).toBe(retired.id)
  })

  it('that loses its key while it is asked to sign does not sign', async () => {
    const { trust, cas, keys } = await aFleet()
    await createCa(trust.admin, { ...named, name: 'next' })
    const asked = useCa(trust.admin, 'default', 'user-ca')
    await retireCa(trust.admin, 'default', 'user-ca', true)
    await expect(asked).rejects.toMatchObject({ code: 'ca/key-removed' })
    expect(keys.kept.has(cas.signing('default', 'user')!.id)).toBe(true)
  })

  it('leaves no key behind when its row could not be written', async () => {
    const { trust, keys } = await aFleet()
    const before = keys.kept.size
    await expect(createCa(trust.admin, { ...named, name: 'user-ca' })).rejects.toMatchObject({ code: 'ca/name-taken' })
    expect(keys.kept.size).toBe(before)
  })

  it('is not made when its key cannot be kept', async () => {
    const { trust, keys, cas } = await aFleet()
    keys.broken = 'no space left on device'
    await expect(createCa(trust.admin, { ...named, name: 'next' })).rejects.toMatchObject({
      code: 'ca/key-unusable',
      params: { detail: expect.stringContaining('no space left') },
    })
    expect(cas.list('default', 'user')).toHaveLength(1)
  })

  it('whose row a new store has not, and that a VM trusts, is a CA again', async () => {
    const { keys, vms, host, cas } = await aFleet()
    const vm = vms.create(aVm(host.id))
    const lost = cas.signing('default', 'user')!
    const anew = aTrust(aStore(), keys)
    anew.vms.adopt({ ...aVm(anew.host.id, { trustedCas: vm.trustedCas }), forceStop: false, restartCount: 0 })
    await anew.trust.start()
    const [user] = anew.cas.list('default', 'user')
    expect(user).toMatchObject({
      id: lost.id,
      publicKey: lost.publicKey,
      state: 'signing',
      name: `recovered-${lost.id.slice(0, 8)}`,
    })
    const { row } = await anew.trust.issueLogin({
      tenant: 'default',
      vm: anew.vms.listAll()[0],
      login: 'root',
      publicKey: aKeyLine(),
    })
    expect(row.caId).toBe(lost.id)
  })

  it.each([
    ['two tenants', 'user', (line: string) => ({ trustedCas: [line] }), ['default', 'lab']],
    [
      'a certificate that it never signed',
      'host',
      (_: string, forged: string) => ({ hostCertificate: forged }),
      ['lab'],
    ],
  ] as const)('that is lost is not given away on the word of hosts: %s', async (_, kind, claim, tenants) => {
    const { keys, cas } = await aFleet()
    const lost = cas.signing('default', kind)!
    const body = {
      kind: 'host',
      serial: 1n,
      keyId: 'x',
      principals: ['x'],
      validAfter: 0n,
      validBefore: NO_END,
    } as const
    const other = generateKeyPairSync('ed25519').privateKey
    const signed = signCertificate(other, blobOf(other), { ...body, criticalOptions: {}, extensions: [] })
    const forged = certificateLine(bytesReplaced(signed, blobOf(other), blobIn(lost)), '')
    const anew = aTrust(aStore(), keys)
    anew.tenants.create('lab', { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
    const lab = anew.hosts.create(aHost({ name: 'lab', tenant: 'lab' }))
    for (const tenant of tenants) {
      const vm = { ...aVm((tenant === 'lab' ? lab : anew.host).id), ...claim(lost.publicKey, forged) }
      anew.vms.adopt({ ...vm, forceStop: false, restartCount: 0 })
    }
    await anew.trust.start()
    expect(anew.cas.findByKey(lost.publicKey)).toBeUndefined()
    expect(keys.kept.has(lost.id)).toBe(true)
  })

  it('of another tenant is made with that tenant, and both at once are made once', async () => {
    const { trust, tenants, cas } = await aFleet()
    tenants.create('lab', { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
    await Promise.all([trust.ensureTenant('lab'), trust.ensureTenant('lab')])
    expect(cas.list('lab').map(({ kind, state }) => [kind, state])).toEqual([
      ['host', 'signing'],
      ['user', 'signing'],
    ])
  })
})

describe('revocations', () => {
  const serial = (n: bigint) => ({ tenant: 'default', serial: String(n), certificate: '', reason: '' })

  it('raise the epoch of every host of the tenant and of no other, once each', async () => {
    const stores = await aFleet()
    const { hosts, host, tenants } = stores
    tenants.create('lab', { maxVms: null, maxVcpus: null, maxMemMb: null, maxDiskGb: null, graceS: null })
    const before = hosts.get(host.id).epoch
    revoke(stores, serial(5n))
    revoke(stores, serial(5n))
    expect(hosts.get(host.id).epoch).toBe(before + 1n)
    revoke(stores, { ...serial(6n), tenant: 'lab' })
    expect(hosts.get(host.id).epoch).toBe(before + 1n)
  })

  it('of one serial by two authorities both hold, to the later end', async () => {
    const stores = await aFleet()
    const { trust, cas } = stores
    const [one, two] = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]
    for (const [name, key] of Object.entries({ one, two })) {
      const publicKey = canonicalLine(blobOf(key))
      await importCa(trust.admin, { ...named, name, makeSigning: false, privateKey: '', passphrase: '', publicKey })
    }
    const certificate = (key: KeyObject, validBefore: bigint) => {
      const body = { kind: 'user', serial: 7n, keyId: '', principals: ['root'], validAfter: 0n, validBefore } as const
      return certificateLine(signCertificate(key, blobOf(key), { ...body, criticalOptions: {}, extensions: [] }), '')
    }
    const end = 2_000_000_000n
    for (const line of [certificate(one, end), certificate(two, end + 1n), certificate(one, end)])
      revoke(stores, { tenant: 'default', serial: '', certificate: line, reason: '' })
    const krl = readKrl(trust.krl('default'))!
    for (const key of [one, two]) expect(revokes(krl, blobOf(key), 7n)).toBe(true)
    expect(stores.certificates.listRevoked('default')).toMatchObject([
      { validBefore: new Date(Number(end + 1n) * 1000) },
    ])
    expect(cas.list('default', 'user')).toHaveLength(3)
  })

  it('are dropped a month after the end of what they revoke, and one whose end nobody knows stays', async () => {
    const stores = await aFleet()
    const { trust, certificates, later } = stores
    const { row } = await trust.issueLogin({ tenant: 'default', login: 'root', publicKey: aKeyLine() })
    revoke(stores, serial(BigInt(row.serial)))
    revoke(stores, serial(77n))
    const revoked = () => readKrl(trust.krl('default'))?.revoked.flatMap((section) => section.serials)
    expect(revoked()?.toSorted()).toEqual([77n, BigInt(row.serial)].toSorted())
    await later(29 * DAY_MS)
    certificates.prune()
    expect(revoked()).toHaveLength(2)
    await later(2 * DAY_MS)
    expect(certificates.prune()).toMatchObject({ revoked: 1 })
    expect(revoked()).toEqual([77n])
  })

  it('give the same list again and again, and a newer version to a longer one', async () => {
    const stores = await aFleet()
    const { trust, later } = stores
    revoke(stores, serial(5n))
    const first = Buffer.from(trust.krl('default'))
    await later(5_000)
    expect(Buffer.from(trust.krl('default')).equals(first)).toBe(true)
    revoke(stores, serial(6n))
    expect(readKrl(trust.krl('default'))!.version).toBeGreaterThan(readKrl(first)!.version)
  })

  it('are as many as a list holds, and the one too many says what to do', async () => {
    const stores = await aFleet()
    stores.db.transaction(() => {
      for (let n = 1n; n <= 10_000n; n++)
        stores.db.run('INSERT INTO revoked_certificates (tenant, serial, revoked_at) VALUES ($t, $s, $at)', {
          ...{ t: 'default', s: String(n), at: '2026-01-01T00:00:00.000Z' },
        })
    })
    expect(faultOf(() => revoke(stores, serial(20_000n))).code).toBe('certificate/too-many-revoked')
    expect(stores.trust.krl('default').length).toBeLessThan(128 * 1024)
    expect(readKrl(stores.trust.krl('default'))?.revoked[0]?.serials).toHaveLength(10_000)
  })
})

describe('certificates that were issued', () => {
  it('are remembered a week past their end; of a guest that is gone none, of one that lives the newest five', async () => {
    const { trust, certificates, vms, host, later } = await aFleet()
    await trust.issueLogin({ tenant: 'default', login: 'root', publicKey: aKeyLine() })
    const vm = vms.create(aVm(host.id))
    const key = aKeyLine()
    vms.setHostPublicKey(vm.id, host.id, key)
    for (let i = 0; i < 7; i++) {
      trust.certifier.reported(host.id, vm.id, key)
      vms.edit(vm.id, 'vm.rename', { name: `name-${i}` })
    }
    const kept = (kind: 'user' | 'host') => certificates.list('default', { kind, ended: true, limit: 99 }).length
    expect([kept('user'), kept('host')]).toEqual([1, 8])
    await later(6 * DAY_MS)
    certificates.prune()
    expect([kept('user'), kept('host')]).toEqual([1, 5])
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 0 })
    vms.reap(host.id, [vm.id])
    expect([kept('user'), kept('host')]).toEqual([1, 0])
    await later(2 * DAY_MS)
    certificates.prune()
    expect(kept('user')).toBe(0)
  })
})
