import { describe, expect, it } from 'vitest'
import type { VmRow } from '../../../../../src/main/control/store/vm-row.ts'
import { buildDesiredState, digestOf, vmSpecOf } from '../../../../../src/main/control/sync/snapshot-builder.ts'
import { aVm } from '../a-store.ts'

const aRow = (change: Partial<VmRow> = {}): VmRow => ({
  ...aVm('h'.repeat(32)),
  tenant: 'default',
  forceStop: false,
  restartCount: 0,
  status: '',
  lastError: '',
  lastReason: '',
  assignedIp: '',
  networkIp: '',
  hostPublicKey: '',
  createdAt: new Date(0),
  deletedAt: null,
  graceS: null,
  ...change,
})

describe('snapshot builder', () => {
  it('SNAP-02: sends every field of the spec', () => {
    const row = aRow({
      cloudInit: new Uint8Array([1, 2]),
      sshAuthorizedKeys: ['ssh-ed25519 AAAA me'],
      trustedCas: ['ssh-ed25519 BBBB ca'],
      network: 'office',
      backend: 'qemu',
      powerState: 'stopped',
      forceStop: true,
      restartCount: 3,
      autostart: false,
      imageKind: 'kernel',
    })
    expect(vmSpecOf(row)).toMatchObject({
      vmId: row.id,
      name: row.name,
      imageUrl: '',
      imageSha256: row.imageSha256,
      imageKind: 'kernel',
      cloudInit: new Uint8Array([1, 2]),
      vcpus: 1,
      memMb: 512,
      diskGb: 10,
      powerState: 'stopped',
      forceStop: true,
      restartCount: 3n,
      autostart: false,
      network: 'office',
      backend: 'qemu',
      sshAuthorizedKeys: ['ssh-ed25519 AAAA me'],
      sshUserCaAuthorizedKeys: ['ssh-ed25519 BBBB ca'],
      tenant: 'default',
    })
  })

  it('SNAP-03: persistent is always true', () => {
    expect(vmSpecOf(aRow()).persistent).toBe(true)
  })

  it('SNAP-04: a tombstone stands exactly on deleted VMs, with what is left of the grace to give', () => {
    expect(vmSpecOf(aRow()).tombstone).toBeUndefined()
    expect(vmSpecOf(aRow({ deletedAt: new Date(), graceS: 604800 })).tombstone?.graceS).toBe(604800n)
    expect(vmSpecOf(aRow({ deletedAt: new Date(), graceS: 0 })).tombstone?.graceS).toBe(0n)
  })

  it('SNAP-06: no certificate is waited for while the fleet has no CA', () => {
    expect(vmSpecOf(aRow()).hostCertRequired).toBe(false)
  })

  it('the digest does not depend on the order of rows, and on nothing live', () => {
    const [a, b] = [aRow(), aRow()]
    const digest = (rows: VmRow[]) => Buffer.from(digestOf(buildDesiredState(rows))).toString('hex')
    expect(digest([a, b])).toBe(digest([b, a]))
    expect(digest([{ ...a, assignedIp: '10.0.0.9', status: 'ready' }, b])).toBe(digest([a, b]))
    expect(digest([{ ...a, vcpus: 2 }, b])).not.toBe(digest([a, b]))
  })
})
