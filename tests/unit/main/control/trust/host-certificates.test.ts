import { describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../../../../src/main/control/hosts/ssh/host-keys.ts'
import { createCa, retireCa } from '../../../../../src/main/control/trust/ca-admin.ts'
import { HOST_CERTIFICATE_MS, RENEWED_MS } from '../../../../../src/main/control/trust/host-certificates.ts'
import { parseCertificateLine } from '../../../../../src/main/control/trust/openssh/certificate.ts'
import { until } from '../a-clock.ts'
import { aHost, aStore, aVm, faultOf } from '../a-store.ts'
import { aKeyLine, aTrust, MemoryKeys } from './a-trust.ts'

const DAY_MS = 24 * 3600_000

async function aGuest() {
  const fleet = aTrust()
  await fleet.trust.start()
  const { vms, host, trust, clock } = fleet
  const vm = vms.create(aVm(host.id, { name: 'web1' }))
  const key = aKeyLine()
  const report = (told = key, from = host.id) => {
    vms.setHostPublicKey(vm.id, from, told)
    trust.certifier.reported(from, vm.id, told)
  }
  const line = () => vms.find(vm.id)?.hostCertificate ?? ''
  const held = () => parseCertificateLine(line())
  const later = async (ms: number) => {
    await clock.advance(ms)
    fleet.time.now = clock.now()
  }
  return { ...fleet, vm, key, report, line, held, later }
}

describe('the host certificate of a guest', () => {
  it('is for the names of its own row, from a day ago for five years', async () => {
    const { report, held, clock } = await aGuest()
    report()
    const seconds = (ms: number) => BigInt(ms / 1000)
    expect(held()).toMatchObject({
      kind: 'host',
      principals: ['default.web1', 'web1.eitri'],
      validAfter: seconds(clock.now() - DAY_MS),
      validBefore: seconds(clock.now() + HOST_CERTIFICATE_MS),
      signed: true,
    })
  })

  it('is never made for another host’s VM, and nothing of what that host told is kept', async () => {
    const { report, line, vms, vm, hosts, certificates } = await aGuest()
    const other = hosts.create(aHost())
    report(aKeyLine(), other.id)
    expect([line(), vms.find(vm.id)?.hostPublicKey]).toEqual(['', ''])
    expect(certificates.list('default', { ended: true, limit: 9 })).toEqual([])
  })

  it('is made once for a key that is told again and again, and after a restart of the app', async () => {
    const { report, line, certificates, again, vm, host, key } = await aGuest()
    report()
    const first = line()
    report()
    const restarted = again()
    await restarted.start()
    restarted.certifier.reported(host.id, vm.id, key)
    restarted.certifier.checkAll()
    expect(line()).toBe(first)
    expect(certificates.list('default', { kind: 'host', ended: true, limit: 9 })).toHaveLength(1)
  })

  it('follows the VM to its new name, and its host is told', async () => {
    const { report, held, vms, vm, hosts, host } = await aGuest()
    report()
    const { epoch } = hosts.get(host.id)
    vms.edit(vm.id, 'vm.rename', { name: 'web2' })
    expect(held()?.principals).toEqual(['default.web2', 'web2.eitri'])
    expect(hosts.get(host.id).epoch).toBeGreaterThan(epoch + 1n)
  })

  it('is not made for a deleted VM, whose name may be another’s by now, but once it is back', async () => {
    const { report, line, held, vms, vm } = await aGuest()
    vms.edit(vm.id, 'vm.delete', { deletedAt: new Date(), graceS: 60 })
    report()
    expect(line()).toBe('')
    vms.edit(vm.id, 'vm.undelete', { deletedAt: null, graceS: null, name: 'web3' })
    expect(held()?.principals).toEqual(['default.web3', 'web3.eitri'])
  })

  it('is renewed a year before its end, with the same key and not before', async () => {
    const { report, line, held, trust, later, key } = await aGuest()
    report()
    const first = line()
    await later(HOST_CERTIFICATE_MS - RENEWED_MS - DAY_MS)
    trust.certifier.checkAll()
    expect(line()).toBe(first)
    await later(2 * DAY_MS)
    trust.certifier.checkAll()
    expect(line()).not.toBe(first)
    expect(`ssh-ed25519 ${held()?.keyBlob.toString('base64')}`).toBe(key)
  })

  it('is made anew for another key of the guest, but not for one after another', async () => {
    const { report, held, later } = await aGuest()
    report()
    const [second, third] = [aKeyLine(), aKeyLine()]
    const certified = () => `ssh-ed25519 ${held()?.keyBlob.toString('base64')}`
    report(second)
    expect(certified()).toBe(second)
    report(third)
    expect(certified()).toBe(second)
    await later(600_001)
    report(third)
    expect(certified()).toBe(third)
  })

  it('is signed by the next CA once its own is retired, and stays while that one is only not the newest', async () => {
    const { report, held, trust, cas } = await aGuest()
    report()
    const signer = () => fingerprintOf(held()!.caBlob)
    const first = signer()
    await createCa(trust.admin, { tenant: 'default', kind: 'host', name: 'next', makeSigning: true, ifAbsent: false })
    trust.certifier.checkAll()
    expect(signer()).toBe(first)
    await retireCa(trust.admin, 'default', 'host-ca', false)
    trust.certifier.forget()
    trust.certifier.checkAll()
    expect(signer()).toBe(cas.get('default', 'next').fingerprint)
  })

  it('comes by itself once the key of the CA can be had again, and is waited for until then', async () => {
    const { file, keys, vm, host, key, db } = await aGuest()
    db.close()
    keys.broken = 'the disk is gone'
    const later = aTrust(aStore(file), keys)
    await later.trust.start()
    expect(later.trust.hasHostCa('default')).toBe(true)
    later.vms.setHostPublicKey(vm.id, host.id, key)
    later.trust.certifier.reported(host.id, vm.id, key)
    expect(later.vms.find(vm.id)?.hostCertificate).toBe('')
    keys.broken = ''
    await later.clock.advance(60_000)
    later.trust.certifier.reported(host.id, vm.id, key)
    await until(() => later.vms.find(vm.id)?.hostCertificate !== '', 'its certificate')
  })

  it('of a key that is none is refused, once, in words that name the step', async () => {
    const { report } = await aGuest()
    const bad = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5'
    const fault = faultOf(() => report(bad))
    expect([fault.code, fault.params['detail']]).toEqual([
      'agent/misbehaved',
      'parse reported host key: it is no SSH public key',
    ])
    expect(() => report(bad)).not.toThrow()
  })

  it('is signed by nobody while no key can be read, which harms nothing else', async () => {
    const keys = new MemoryKeys()
    keys.broken = 'no disk'
    const fleet = aTrust(undefined, keys)
    await fleet.trust.start()
    expect(fleet.cas.list('default')).toEqual([])
    keys.broken = ''
    await fleet.trust.ensureTenant('default')
    const vm = fleet.vms.create(aVm(fleet.host.id))
    expect(vm.hostCertRequired).toBe(true)
  })
})
