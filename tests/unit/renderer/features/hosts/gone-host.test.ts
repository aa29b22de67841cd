import { describe, expect, it } from 'vitest'
import { goneHost, goneHosts } from '../../../../../src/renderer/features/hosts/gone-host.ts'
import { aHost } from '../../../../support/fake-fleet/rows.ts'

const host = aHost({ name: 'rack2' })

describe('a sheet of a host', () => {
  it('says that the host left the fleet, and what stays', () => {
    const gone = goneHost('revoke', host, undefined)
    expect(gone?.title).toBe('rack2 left the fleet')
    expect(gone?.what).toContain('VMs, which go on there')
  })

  it('acts on a host that is still there', () => {
    expect(goneHost('remove', host, host)).toBeUndefined()
  })

  it('compares no key that was accepted meanwhile, and takes over nothing that nobody else holds', () => {
    expect(goneHost('compare-keys', host, host)?.title).toContain('no key to compare')
    expect(goneHost('take-over', host, host)?.title).toContain('not held by another')
  })

  it('goes on with those of many that are left, and ends when none is', () => {
    const other = aHost({ name: 'edge' })
    expect(goneHosts([host, other], 1)).toBeUndefined()
    expect(goneHosts([host, other], 0)?.title).toBe('2 hosts left the fleet')
    expect(goneHosts([host], 0)?.title).toBe('rack2 left the fleet')
  })
})
