import { describe, expect, it } from 'vitest'
import { isPlace, listBefore } from '../../../../src/renderer/state/place.ts'

describe('the place a window comes back to', () => {
  it.each(['#/vms?filter=web', '#/vms/ab12/console', '#/settings/keys'])('is %s', (hash) => {
    expect(isPlace(hash)).toBe(true)
  })

  it.each(['', '#/', '#t=secret', `#/vms?filter=${'x'.repeat(3000)}`])('is not %s', (hash) => {
    expect(isPlace(hash)).toBe(false)
  })

  it('has a list without a filter while none was seen', () => {
    expect(listBefore('vms')).toEqual({ page: 'vms', filter: '' })
  })
})
