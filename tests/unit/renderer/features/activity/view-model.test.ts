import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { AuditEntrySchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { auditSentence } from '../../../../../src/renderer/features/activity/view-model.ts'

const sentence = (action: string, detail: Record<string, string> = {}) =>
  auditSentence(create(AuditEntrySchema, { action, detail }), { vm: 'web-1', host: 'rack2-07' })

it('an entry is a sentence about its object', () => {
  expect(sentence('vm.create', { image: 'tiny' }).text).toBe('VM web-1 created')
  expect(sentence('host.remove').text).toBe('Host rack2-07 removed')
})

it('what was asked is not told as done, and what happened of itself is told in the words of the host', () => {
  expect(sentence('vm.stop').text).toBe('VM web-1 was asked to stop')
  expect(sentence('vm.start').text).toBe('VM web-1 was asked to start')
  expect(sentence('vm.set_clock', { result: 'failed' })).toMatchObject({
    text: 'VM web-1 was to have its clock set',
    more: 'on rack2-07, result failed',
  })
  expect(sentence('vm.update', { clock_policy: 'network' }).more).toBe('on rack2-07, clock policy network')
  const trouble = sentence('vm.trouble', { name: 'web-1', reason: 'vm/exited', said: 'web-1 ended by itself.' })
  expect(trouble).toEqual({ text: 'web-1 ended by itself', more: 'on rack2-07' })
  expect(sentence('vm.recovered').text).toBe('VM web-1 runs well again')
})

it('an action of a later version is shown as it is', () => {
  expect(sentence('vm.teleport').text).toBe('vm.teleport web-1')
})

it('control characters of a detail never reach the screen', () => {
  expect(sentence('vm.start', { reason: 'a\x1b[31mb\u202e' }).more).toBe('on rack2-07, reason ab')
})
