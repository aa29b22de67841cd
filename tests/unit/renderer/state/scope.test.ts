import { describe, expect, it } from 'vitest'
import {
  heldScope,
  labelsOf,
  readScope,
  type Scope,
  scopeHas,
  scopeText,
} from '../../../../src/renderer/state/scope.ts'
import { aHost } from '../../../support/fake-fleet/rows.ts'

const rack = aHost({ id: 'h1', labels: { prod: '', site: 'ber' } })
const lab = aHost({ id: 'h2', labels: {} })

describe('the scope', () => {
  it.each<Scope>([{ kind: 'all' }, { kind: 'host', id: 'h1' }, { kind: 'label', label: 'site=ber' }])(
    'is kept whole: %o',
    (scope) => expect(readScope(scopeText(scope))).toEqual(scope),
  )

  it('is the whole fleet when what was kept says nothing', () => {
    expect(readScope(null)).toEqual({ kind: 'all' })
    expect(readScope('tenant:x')).toEqual({ kind: 'all' })
  })

  it('of a host has that host alone, of a label every host that carries it', () => {
    expect([rack, lab].filter((h) => scopeHas({ kind: 'host', id: 'h2' }, h))).toEqual([lab])
    expect([rack, lab].filter((h) => scopeHas({ kind: 'label', label: 'site=ber' }, h))).toEqual([rack])
    expect(labelsOf(rack)).toEqual(['prod', 'site=ber'])
  })

  it('of a host that is gone is the whole fleet again, so that no list is empty without a reason', () => {
    expect(heldScope({ kind: 'host', id: 'gone' }, [rack, lab])).toEqual({ kind: 'all' })
    expect(heldScope({ kind: 'label', label: 'prod' }, [rack])).toEqual({ kind: 'label', label: 'prod' })
  })
})
