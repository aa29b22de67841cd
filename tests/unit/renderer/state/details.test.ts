import { describe, expect, it } from 'vitest'
import {
  closeDetails,
  detailsOf,
  openDetails,
  toggleDetails,
  useDetails,
} from '../../../../src/renderer/state/details.ts'
import { EMPTY_FLEET } from '../../../../src/renderer/state/fleet-store.ts'
import { aHost, aVm } from '../../../support/fake-fleet/rows.ts'

const fleet = {
  ...EMPTY_FLEET,
  hosts: new Map([['h1', aHost({ id: 'h1' })]]),
  vms: new Map([['v1', aVm({ id: 'v1' })]]),
}

describe('details beside the page', () => {
  it('are of the object whose id a row carries', () => {
    expect(detailsOf(undefined, 'h1', fleet)).toEqual({ kind: 'host', id: 'h1' })
    expect(detailsOf(undefined, 'v1', fleet)).toEqual({ kind: 'vm', id: 'v1' })
  })

  it('are of what an element says itself, before what its row is', () => {
    expect(detailsOf('image:tiny', 'v1', fleet)).toEqual({ kind: 'image', id: 'tiny' })
    expect(detailsOf('moon:1', 'v1', fleet)).toEqual({ kind: 'vm', id: 'v1' })
  })

  it('are of nothing for a row the fleet does not know', () => {
    expect(detailsOf(undefined, 'gone', fleet)).toBeUndefined()
    expect(detailsOf(undefined, undefined, fleet)).toBeUndefined()
  })

  it('close on the same row and move to another', () => {
    openDetails({ kind: 'vm', id: 'v1' })
    toggleDetails({ kind: 'host', id: 'h1' })
    expect(useDetails.getState().open?.id).toBe('h1')
    toggleDetails({ kind: 'host', id: 'h1' })
    expect(useDetails.getState().open).toBeUndefined()
    closeDetails()
  })
})
