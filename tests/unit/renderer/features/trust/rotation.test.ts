import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { CaSchema, VmTrustSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import { rotationOf } from '../../../../../src/renderer/features/trust/rotation.ts'

const ca = (name: string, made: number, change: MessageInitShape<typeof CaSchema> = {}) =>
  create(CaSchema, {
    ...{ id: name, name, fingerprint: name, kind: 'user', held: 'file', state: 'trusted' },
    ...{ createdAt: timestampFromMs(made), ...(change as object) },
  })
const guest = (vmName: string, userCas: string[], hostCa = '') =>
  create(VmTrustSchema, { vmId: vmName, vmName, userCas, hostCa })
const stepsOf = (...given: Parameters<typeof rotationOf>) =>
  rotationOf(...given).steps.map(({ id, state }) => `${id} ${state}`)

const old = ca('old', 1, { state: 'signing' })
const next = ca('next', 2)
const guests = [guest('web', ['old', 'next']), guest('db', ['old']), guest('odd', [])]

describe('changing from one authority to the next', () => {
  it('begins with a new one', () => {
    expect(stepsOf('user', [old], guests)).toEqual(['add now', 'spread later', 'sign later', 'retire later'])
  })

  it('counts who trusts the new one, and names who does not and why', () => {
    const { done, total, missing } = rotationOf('user', [old, next], guests)
    expect([done, total]).toEqual([1, 3])
    expect(missing).toMatchObject([
      { vmName: 'db', why: expect.stringContaining('made before it') },
      { vmName: 'odd', why: expect.stringContaining('not known here') },
    ])
  })

  it('goes on to signing once all trust it, and to retiring once it signs', () => {
    const all = [guest('web', ['old', 'next'])]
    expect(stepsOf('user', [old, next], all)[2]).toBe('sign now')
    const signing = [ca('old', 1), ca('next', 2, { state: 'signing' })]
    expect(stepsOf('user', signing, all)).toEqual(['add done', 'spread done', 'sign done', 'retire now'])
    expect(rotationOf('user', signing, all).cutOff).toEqual([])
  })

  it('says who would be locked out, however far it is', () => {
    expect(rotationOf('user', [old, next], guests).cutOff).toEqual(['db'])
  })

  it('of guests signs first, for their certificates are made by who signs', () => {
    const host = { kind: 'host' }
    const cas = [ca('old', 1, { ...host, state: 'signing' }), ca('next', 2, host)]
    const certified = [guest('web', [], 'old'), guest('plain', [])]
    expect(stepsOf('host', cas, certified)).toEqual(['add done', 'sign now', 'spread later', 'retire later'])
    expect(rotationOf('host', cas, certified)).toMatchObject({ done: 0, total: 1, missing: [{ vmName: 'web' }] })
  })

  it('leads to none that cannot sign here', () => {
    const elsewhere = ca('office', 3, { held: 'elsewhere' })
    const sealed = ca('sealed', 4, { problem: 'its file is sealed' })
    expect(rotationOf('user', [old, elsewhere, sealed], guests)).toMatchObject({
      old: { name: 'old' },
      next: undefined,
    })
    expect(rotationOf('user', [elsewhere, old, next], guests)).toMatchObject({
      old: { name: 'old' },
      next: { name: 'next' },
    })
  })

  it('takes no notice of retired ones, nor of the other kind', () => {
    const others = [ca('gone', 0, { state: 'retired' }), ca('host', 3, { kind: 'host' })]
    expect(rotationOf('user', [...others, old], guests)).toMatchObject({ old: { name: 'old' }, next: undefined })
  })
})
