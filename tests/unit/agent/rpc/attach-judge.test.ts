import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { judgeAttach, NONCE_BYTES } from '../../../../src/agent/rpc/attach-judge.ts'
import { type Attach, AttachSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { AGENT_PROTOCOL } from '../../../../src/ipc/units.ts'

const MINE = 'a'.repeat(32)
const OTHER = 'b'.repeat(32)
const attach = (change: Partial<Attach> = {}): Attach =>
  create(AttachSchema, {
    protocolVersion: AGENT_PROTOCOL,
    fleetId: MINE,
    nonce: new Uint8Array(NONCE_BYTES),
    ...(change as object),
  })

describe('whether an Attach becomes the session', () => {
  it('an agent of no fleet adopts the first', () => {
    expect(judgeAttach(attach(), { fleetId: '', controllerName: '' })).toEqual({ attach: 'adopt' })
  })

  it('its own fleet always may, whoever is attached', () => {
    expect(judgeAttach(attach(), { fleetId: MINE, controllerName: 'x' })).toEqual({ attach: 'same-fleet' })
  })

  it('another fleet is refused with the name of the one it belongs to, unless a person takes over', () => {
    const own = { fleetId: OTHER, controllerName: 'desk' }
    expect(judgeAttach(attach(), own)).toMatchObject({ end: { code: 'foreign_controller', controllerName: 'desk' } })
    expect(judgeAttach(attach({ takeOver: true }), own)).toEqual({ attach: 'take-over' })
  })

  it.each([
    ['an unknown protocol', attach({ protocolVersion: AGENT_PROTOCOL + 1 })],
    ['protocol 0, the value of an absent field', attach({ protocolVersion: 0 })],
    ['no fleet id', attach({ fleetId: '' })],
    ['a fleet id that is a path', attach({ fleetId: '../../etc' })],
    ['a short nonce', attach({ nonce: new Uint8Array(31) })],
    ['an endless controller name', attach({ controllerName: 'x'.repeat(65) })],
  ])('SYN-11: %s is auth_rejected, also with take_over', (_, frame) => {
    expect(judgeAttach(frame, { fleetId: '', controllerName: '' })).toMatchObject({ end: { code: 'auth_rejected' } })
    expect(judgeAttach({ ...frame, takeOver: true }, { fleetId: MINE, controllerName: '' })).toMatchObject({
      end: { code: 'auth_rejected' },
    })
  })
})
