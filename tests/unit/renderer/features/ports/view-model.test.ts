import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { PortSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/port_pb.js'
import {
  EMPTY_PORT,
  leadsTo,
  nextFree,
  portFilterRecord,
  portProblems,
  portState,
  publishedAt,
  requestOf,
  sessionWords,
  shortReason,
} from '../../../../../src/renderer/features/ports/view-model.ts'

const aPort = (change: MessageInitShape<typeof PortSchema> = {}) =>
  create(PortSchema, {
    id: 'p',
    vmId: 'v',
    vmName: 'web',
    hostId: 'h',
    hostName: 'rack',
    guestPort: 443,
    hostPort: 8443,
    protocol: 'tcp',
    scope: 'lan',
    hostAddress: '10.0.2.7',
    state: 'listening',
    ...change,
  })

describe('a published port on the screen', () => {
  it('is where a client dials it', () => {
    expect(publishedAt(aPort())).toBe('10.0.2.7:8443')
    expect(publishedAt(aPort({ hostAddress: '' }))).toBe('rack:8443')
    expect(publishedAt(aPort({ hostAddress: '2001:db8::7', protocol: 'udp' }))).toBe('[2001:db8::7]:8443/udp')
    expect(publishedAt(aPort({ scope: 'loopback' }))).toBe('127.0.0.1:8443')
    expect(leadsTo(aPort({ guestPort: 53, protocol: 'udp' }))).toBe('web:53/udp')
  })

  it('has the state its host gives it, with the reason', () => {
    expect(portState(aPort())).toEqual({ word: 'Listening', tone: 'good' })
    const failed = portState(aPort({ state: 'failed', reason: 'Port 8443 is used by nginx (pid 812).' }))
    expect(failed).toEqual({ word: 'Failed', tone: 'bad', detail: 'Port 8443 is used by nginx (pid 812).' })
  })

  it('says in its row what is in the way, and the rest beside it', () => {
    const short = (change: object) => shortReason(aPort(change))
    expect(short({ state: 'failed', reason: 'Port 8443 is used by nginx (pid 812).' })).toBe('used by nginx')
    expect(short({ state: 'waiting', reason: 'The VM is not running.' })).toBe('The VM is not running')
    expect(short({ hostUnknown: true })).toBe('was listening')
    expect(short({})).toBe('')
  })

  it('is unknown while its host does not answer or has not said, never what it was', () => {
    expect(portState(aPort({ hostUnknown: true }))).toMatchObject({
      word: 'Unknown',
      detail: 'rack does not answer; last known: listening',
    })
    const { state: _, ...unsaid } = aPort()
    expect(portState(create(PortSchema, unsaid)).word).toBe('Unknown')
  })

  it('shows counts that were counted, zero as zero, and none where nobody counts', () => {
    expect(sessionWords(aPort())).toBeUndefined()
    expect(sessionWords(aPort({ sessions: {}, hostUnknown: true }))).toBeUndefined()
    expect(sessionWords(aPort({ sessions: {} }))).toBe('0 now')
    expect(sessionWords(aPort({ sessions: { active: 3n, refused: 1n, dropped: 2n } }))).toBe(
      '3 now · 1 refused · 2 dropped',
    )
  })

  it('is offered the next port that nothing of its host and protocol has', () => {
    const port = aPort()
    const others = [
      port,
      aPort({ hostPort: 8444 }),
      aPort({ hostPort: 8445, protocol: 'udp' }),
      aPort({ hostPort: 8445, hostId: 'other' }),
    ]
    expect(nextFree(others, port)).toBe(8445)
    expect(nextFree([], aPort({ hostPort: 65_535 }))).toBeUndefined()
  })

  it('is found by its VM, its host and either port', () => {
    expect(portFilterRecord(aPort())).toMatchObject({ vm: 'web', host: 'rack', port: '10.0.2.7:8443 443' })
  })
})

describe('a port being published', () => {
  const draft = { ...EMPTY_PORT, vm: 'a'.repeat(32), guestPort: '443' }

  it('needs a guest port; without a host port one is chosen', () => {
    expect(portProblems({ ...draft, guestPort: '' })).toEqual({ ready: false })
    expect(portProblems(draft)).toEqual({ ready: true })
    expect(requestOf(draft)).toMatchObject({ guestPort: 443, hostPort: 0, protocol: 'tcp', scope: 'lan' })
  })

  it.each(['0', '65536', '8e1', '-1', 'http'])('says beside the field that %s is no port', (text) => {
    expect(portProblems({ ...draft, guestPort: text }).guestPort).toBeDefined()
    expect(portProblems({ ...draft, hostPort: text }).hostPort).toBeDefined()
  })
})
