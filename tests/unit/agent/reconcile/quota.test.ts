import { describe, expect, it } from 'vitest'
import { QuotaLedger } from '../../../../src/agent/reconcile/quota.ts'

const size = (vmId: string, vcpus: number, memMb = 1, diskGb = 1) => ({ vmId, vcpus, memMb, diskGb })

describe('the quota ledger', () => {
  it('all caps 0 admit anything', () => {
    const ledger = new QuotaLedger({ vcpus: 0, memMb: 0, diskGb: 0 })
    expect(ledger.admit(size('a', 9_999, 9_999, 9_999))).toBe('')
  })

  it.each([
    ['vCPUs', size('b', 3, 1, 1), '3 vCPUs wanted, 2 of 4 free'],
    ['memory', size('b', 1, 60, 1), '60 MiB of memory wanted, 50 of 100 free'],
    ['disk', size('b', 1, 1, 6), '6 GiB of disk wanted, 5 of 10 free'],
  ])('names the dimension that binds: %s', (_name, wanted, words) => {
    const ledger = new QuotaLedger({ vcpus: 4, memMb: 100, diskGb: 10 })
    ledger.admit(size('a', 2, 50, 5))
    expect(ledger.admit(wanted)).toBe(words)
    expect(ledger.held('b')).toBeUndefined()
  })

  it('a retry does not count the VM twice', () => {
    const ledger = new QuotaLedger({ vcpus: 2, memMb: 0, diskGb: 0 })
    expect(ledger.admit(size('a', 2))).toBe('')
    expect(ledger.admit(size('a', 2))).toBe('')
  })

  it('what a VM holds it is never refused, lowered caps or not; only more of it is', () => {
    const ledger = new QuotaLedger({ vcpus: 2, memMb: 100, diskGb: 0 })
    ledger.note(size('a', 5, 50))
    expect(ledger.admit(size('a', 5, 50))).toBe('')
    expect(ledger.admit(size('a', 5, 101))).toBe('101 MiB of memory wanted, 100 of 100 free')
    expect(ledger.held('a')).toEqual({ vmId: 'a', vcpus: 5, memMb: 50, diskGb: 1 })
    expect(ledger.admit(size('a', 4, 100))).toBe('')
    expect(ledger.held('a')).toMatchObject({ vcpus: 4, memMb: 100 })
  })

  it('release is idempotent and makes room', () => {
    const ledger = new QuotaLedger({ vcpus: 2, memMb: 0, diskGb: 0 })
    ledger.note(size('a', 2))
    ledger.release('a')
    ledger.release('a')
    expect(ledger.admit(size('b', 2))).toBe('')
  })

  it('what exists already may exceed the caps, and then nothing more fits', () => {
    const ledger = new QuotaLedger({ vcpus: 2, memMb: 0, diskGb: 0 })
    ledger.note(size('a', 5))
    expect(ledger.admit(size('b', 1))).toBe('1 vCPUs wanted, 0 of 2 free')
  })
})
