import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { actingAs } from '../../../../../src/main/control/store/actor.ts'
import type { HostLive } from '../../../../../src/main/control/sync/registry.ts'
import { createCa, useCa } from '../../../../../src/main/control/trust/ca-admin.ts'
import { guestOffsetMs } from '../../../../../src/main/control/trust/guest-offset.ts'
import { loginWindow } from '../../../../../src/main/control/trust/login-window.ts'
import { parseCertificateLine } from '../../../../../src/main/control/trust/openssh/certificate.ts'
import { aVm } from '../a-store.ts'
import { aKeyLine, aTrust } from './a-trust.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const MIN = 60_000
const HOUR = 60 * MIN

describe('the window of a login', () => {
  const window = (offsetMs?: number) => {
    const { validAfter, validBefore, beyond } = loginWindow(NOW, offsetMs)
    return [(validAfter.getTime() - NOW) / MIN, (validBefore.getTime() - NOW) / MIN, beyond]
  }
  it.each([
    ['not known', undefined, [-1, 30, false]],
    ['right', 0, [-1, 30, false]],
    ['40 minutes behind: it refuses every certificate that does not begin before', -40 * MIN, [-41, 30, false]],
    ['a day behind', -24 * HOUR, [-24 * 60 - 1, 30, false]],
    ['10 minutes ahead', 10 * MIN, [-1, 40, false]],
    ['an hour ahead', HOUR, [-1, 90, false]],
    ['so far ahead that only part of it is left', 80 * MIN, [-1, 90, false]],
    ['so far ahead that it refuses', 2 * HOUR, [-1, 90, true]],
    ['so far behind that it refuses', -25 * HOUR, [-24 * 60 - 1, 30, true]],
  ])('where the guest’s clock is %s', (_, offset, expected) => {
    expect(window(offset)).toEqual(expected)
  })

  it('covers half an hour by either clock wherever it is not said to be refused', () => {
    for (let offset = -24 * HOUR; offset <= HOUR; offset += 7 * MIN) {
      const { validAfter, validBefore, beyond } = loginWindow(NOW, offset)
      expect(beyond).toBe(false)
      for (const at of [NOW, NOW + offset]) {
        expect(validAfter.getTime()).toBeLessThanOrEqual(at - MIN)
        expect(validBefore.getTime()).toBeGreaterThanOrEqual(at + 30 * MIN)
      }
    }
  })

  it('is of whole seconds, as certificates are', () => {
    const { validAfter, validBefore } = loginWindow(NOW + 999, 1234)
    expect([validAfter.getTime() % 1000, validBefore.getTime() % 1000]).toEqual([0, 0])
  })
})

describe('how far a guest’s clock is off', () => {
  const live = (report: MessageInitShape<typeof ReportSchema>, hostOffset?: number): HostLive => {
    const full = create(ReportSchema, report)
    return {
      link: { state: 'connected' },
      report: full,
      vms: new Map(full.vms.map((vm) => [vm.vmId, vm])),
      reportedMonotonic: 1_000,
      ...(hostOffset === undefined ? {} : { clockSamples: [{ rawMs: hostOffset - 5, roundTripMs: 10, baseMs: 0 }] }),
    }
  }
  const measured = (agoMs: number) => ({
    builtAt: timestampFromMs(NOW),
    vms: [{ vmId: 'v', clock: { offsetUs: -2_000_000n, measuredAt: timestampFromMs(NOW - agoMs) } }],
  })

  it('is its own error and that of its host together', () => {
    expect(guestOffsetMs(live(measured(1_000), 7_000), 'v', 2_000)).toBe(5_000)
    expect(guestOffsetMs(live(measured(1_000)), 'v', 2_000)).toBe(-2_000)
  })

  it('is that of its host where nobody measured it, or not lately', () => {
    expect(guestOffsetMs(live({ builtAt: timestampFromMs(NOW), vms: [{ vmId: 'v' }] }, 7_000), 'v', 2_000)).toBe(7_000)
    expect(guestOffsetMs(live(measured(3_600_000), 7_000), 'v', 2_000)).toBe(7_000)
    expect(guestOffsetMs(live(measured(1_000), 7_000), 'v', 3_600_000)).toBe(7_000)
  })

  it('is not known where nothing was ever measured', () => {
    expect(guestOffsetMs({ link: { state: 'unreachable' } }, 'v', 0)).toBeUndefined()
  })
})

describe('a login', () => {
  const login = { tenant: 'default', login: 'root', publicKey: aKeyLine() }

  it('is signed by a CA that the VM trusts, the one that signs now first, and by another while that one’s key is lost', async () => {
    const { trust, vms, host, cas, keys, again } = aTrust()
    await trust.start()
    const named = { tenant: 'default', kind: 'user' as const, makeSigning: false, ifAbsent: false }
    await createCa(trust.admin, { ...named, name: 'next' })
    const both = vms.create(aVm(host.id))
    await useCa(trust.admin, 'default', 'next')
    const signer = async (from = trust) => {
      const { row } = await from.issueLogin({ ...login, vm: both })
      return cas.list('default').find(({ id }) => id === row.caId)?.name
    }
    expect(await signer()).toBe('next')
    keys.kept.delete(cas.get('default', 'next').id)
    const restarted = again()
    expect(await signer(restarted)).toBe('user-ca')
    keys.kept.delete(cas.get('default', 'user-ca').id)
    await expect(again().issueLogin({ ...login, vm: both })).rejects.toMatchObject({
      code: 'ca/key-unusable',
      params: { ca: 'next' },
    })
  })

  it('says who asked in the log of the guest, in plain characters', async () => {
    const { trust, vms, host } = aTrust()
    await trust.start()
    const vm = vms.create(aVm(host.id, { name: 'web1' }))
    const actor = { user: 'jos\u00e9\n"x"', client: 'cli' as const, requestId: 'r' }
    const { certificate, row } = await actingAs(actor, () => trust.issueLogin({ ...login, vm }))
    expect(row.keyId).toBe('eitri root@default.web1 for jos??"x" by cli')
    expect(parseCertificateLine(certificate)?.keyId).toBe(row.keyId)
  })

  it('says so when the clock of the guest is further off than any certificate is made for', async () => {
    const { trust, vms, host, registry, clock } = aTrust()
    await trust.start()
    const vm = vms.create(aVm(host.id, { name: 'web1' }))
    const session = { hostId: host.id, sessionId: 's', hello: {}, connection: {} } as never
    registry.sessionStarted(session)
    const at = timestampFromMs(clock.now())
    const seen = { vmId: vm.id, clock: { offsetUs: BigInt(3 * HOUR) * 1000n, measuredAt: at } }
    registry.reported(session, create(ReportSchema, { builtAt: at, vms: [seen] }), {
      date: new Date(clock.now()),
      monotonic: clock.monotonic(),
    })
    const told = await trust.issueLogin({ ...login, vm })
    expect(told.clockDetail).toBe('The clock of web1 is too far off for certificates: it refuses them until it is set.')
    expect((await trust.issueLogin(login)).clockDetail).toBe('')
  })
})
