import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { PortProbeSchema, PortSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/port_pb.js'
import { listenerWords, probeState, reachState } from '../../../../../src/renderer/features/ports/probe-view.ts'

const probe = (from: string, state: string, detail = '') => create(PortProbeSchema, { from, state, detail })
const done = (here: string, there: string) => ({
  ...{ state: 'done' as const, at: 0 },
  probes: [probe('this computer', here, 'way'), probe('host', there, 'guest')],
})
const port = (change: MessageInitShape<typeof PortSchema>) => create(PortSchema, change)

describe('whether a published port is reached', () => {
  it.each([
    ['open', 'open', 'Reachable', 'good', undefined],
    ['open', 'refused', 'Refused', 'bad', 'guest'],
    ['open', 'not-tried', 'Reachable', 'good', undefined],
    ['silent', 'open', 'Silent', 'warn', 'way'],
    ['refused', 'refused', 'Refused', 'bad', 'way'],
    ['unreachable', 'open', 'No way there', 'bad', 'way'],
    ['not-tried', 'open', 'Guest answers', 'good', 'way'],
    ['not-tried', 'refused', 'Refused', 'bad', 'guest'],
    ['not-tried', 'not-tried', 'Not tried', 'quiet', 'way'],
  ])('from here %s, from its host %s: %s', (here, there, word, tone, detail) => {
    expect(reachState(done(here, there))).toEqual({ word, tone, ...(detail ? { detail } : {}) })
  })

  it('is nothing before it was tried, and a step while it is', () => {
    expect(reachState(undefined)).toBeUndefined()
    expect(reachState({ state: 'running' })).toMatchObject({ tone: 'busy', word: expect.stringContaining('5 s') })
  })

  it('takes a word it does not know for unknown', () => {
    expect(probeState(probe('host', 'later'))).toEqual({ word: 'Unknown', tone: 'unknown' })
  })
})

describe('who listens on a published port', () => {
  it.each([
    ['the agent where it listens', { state: 'listening' }, "Eitri's agent"],
    [
      'the program that has it',
      { state: 'failed', reason: 'Port 8080 is used by nginx (pid 812).' },
      'nginx (pid 812)',
    ],
    ['nobody where it waits', { state: 'waiting', reason: 'The VM is not running.' }, 'nobody'],
    ['not known while its host is silent', { state: 'listening', hostUnknown: true }, 'not known'],
    ['not known before its host said', {}, 'not known'],
  ])('is %s', (_, change, words) => {
    expect(listenerWords(port(change))).toBe(words)
  })
})
