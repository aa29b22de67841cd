import { describe, expect, it } from 'vitest'
import {
  hostFault,
  hostState,
  hostUse,
  nextTryInMs,
  offeredKey,
  ownerOf,
  shareOf,
} from '../../../../../src/renderer/features/hosts/view-model.ts'
import { aHost, at } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30, 14, 2, 11)
const fault = (code: string) => ({ code, disposition: 'permanent', params: {}, id: 'x' })

describe('the state word of a host', () => {
  it.each([
    ['Connected', aHost()],
    ['Connecting', aHost({ link: 'connecting' })],
    ['Degraded', aHost({ stale: true })],
    ['Degraded', aHost({ missing: ['qemu-utils'] })],
    ['Unreachable (last seen 7 min ago)', aHost({ link: 'unreachable', lastSeenAt: at(NOW - 7 * 60_000) })],
    ['Unreachable (never seen)', aHost({ link: 'unreachable' })],
    ['Sign-in needed', aHost({ link: 'sign_in_needed' })],
    ['Key not trusted', aHost({ link: 'key_not_trusted' })],
    ['Key changed', aHost({ link: 'key_changed' })],
    ['Agent missing', aHost({ link: 'agent_missing' })],
    ['Agent missing', aHost({ link: 'identity_mismatch' })],
    ['Agent outdated', aHost({ link: 'unreachable', linkFault: fault('agent/version-skew') })],
    ['Held by another controller', aHost({ link: 'held_by_other' })],
    ['Unreachable (never seen)', aHost({ link: 'a word of a later version' })],
  ])('%s', (word, host) => expect(hostState(host, NOW).word).toBe(word))

  it('names the control plane that holds a host, when that is why', () => {
    const held = (params: Record<string, string>) =>
      aHost({ link: 'held_by_other', linkFault: { ...fault('agent/foreign-controller'), params } })
    expect(hostState(held({ controller: 'desk' }), NOW).detail).toBe('By the Eitri of desk')
    expect(hostState(held({}), NOW).detail).toBeUndefined()
    expect(ownerOf(held({ controller: 'desk' }))).toBe('another control plane, the Eitri of desk')
    expect(ownerOf(held({}))).toBe('another control plane')
    expect(ownerOf(aHost({ link: 'held_by_other', linkFault: fault('agent/superseded') }))).toBeUndefined()
    expect(ownerOf(aHost())).toBeUndefined()
  })

  it('says that the data here is older than a connected host’s', () => {
    const host = aHost({ newerData: { epoch: 6n, hostEpoch: 7n } })
    expect(hostState(host, NOW)).toMatchObject({ word: 'Degraded', detail: "This app's data is older than the host's" })
  })

  it('names what a connected host lacks', () => {
    expect(hostState(aHost({ missing: ['qemu-utils'] }), NOW).detail).toBe('Lacks qemu-utils')
  })
})

describe('why a host is not connected', () => {
  it('is its last fault, with its name in the words', () => {
    const host = aHost({ link: 'unreachable', linkFault: fault('host/unreachable') })
    expect(hostFault(host)).toMatchObject({ code: 'host/unreachable', params: { host: 'rack2-07' } })
  })

  it('is nothing once it is connected, whatever went wrong before', () => {
    expect(hostFault(aHost({ linkFault: fault('host/unreachable') }))).toBeUndefined()
  })

  it('has the key to compare only where a person may accept it', () => {
    const params = { fingerprint: 'SHA256:new', known: 'SHA256:old', key_type: 'ssh-ed25519' }
    const changed = { ...fault('ssh/host-key-changed'), params }
    const offered = { keyType: 'ssh-ed25519', fingerprint: 'SHA256:new', known: 'SHA256:old' }
    expect(offeredKey(aHost({ link: 'key_changed', linkFault: changed }))).toEqual(offered)
    expect(offeredKey(aHost({ link: 'key_changed', linkFault: fault('ssh/host-key-revoked') }))).toBeUndefined()
    expect(offeredKey(aHost({ link: 'connected', linkFault: changed }))).toBeUndefined()
  })

  it('says when it is tried again', () => {
    expect(nextTryInMs(aHost({ link: 'unreachable', nextTryAt: at(NOW + 14_000) }), NOW)).toBe(14_000)
    expect(nextTryInMs(aHost({ link: 'key_changed' }), NOW)).toBeUndefined()
  })
})

describe('the capacity of a host', () => {
  it('is unknown, not zero, until it was told', () => {
    const host = aHost()
    delete host.capacity
    expect(shareOf(host, 'vcpus')).toBeUndefined()
  })

  it('is what is promised of what there is', () => {
    expect(shareOf(aHost(), 'memMb')).toEqual({ used: 28672, total: 131072 })
  })
})

describe('what is in use on a host', () => {
  const GB = 1_000_000_000n

  it('is what is not free, of all there is', () => {
    const metrics = {
      ...{ cpuBusyPermille: 250, memTotalBytes: 8n * GB, memAvailableBytes: 6n * GB, swapTotalBytes: 2n * GB },
      ...{ swapFreeBytes: 1n * GB, diskTotalBytes: 100n * GB, diskFreeBytes: 40n * GB },
    }
    expect(hostUse(aHost({ metrics }))).toEqual({
      cpu: { used: 250, total: 1000 },
      memory: { used: 2e9, total: 8e9 },
      swap: { used: 1e9, total: 2e9 },
      disk: { used: 60e9, total: 100e9 },
    })
  })

  it('is unknown, not zero, for what was not reported; a host without swap has none to show', () => {
    const nothing = { cpu: undefined, memory: undefined, swap: undefined, disk: undefined }
    const { metrics: _, ...silent } = aHost()
    expect(hostUse(silent)).toEqual(nothing)
    expect(hostUse(aHost({ metrics: { memTotalBytes: 8n, swapTotalBytes: 0n, swapFreeBytes: 0n } }))).toEqual(nothing)
  })

  it('is nothing, not less, when a filesystem counts more free than it has', () => {
    expect(hostUse(aHost({ metrics: { diskTotalBytes: 5n, diskFreeBytes: 9n } })).disk).toEqual({ used: 0, total: 5 })
  })
})
