import { describe, expect, it } from 'vitest'
import { agentPlaces, groupId, socketAccess } from '../../../../src/agent/install/places.ts'

const root = { uid: 0, name: 'root', home: '/root' }
const bob = { uid: 1000, name: 'bob', home: '/home/bob' }
const GROUPS = 'root:x:0:\neitri:x:997:bob\n'

describe('where an agent lives', () => {
  it('root has one per machine', () => {
    expect(agentPlaces(root)).toEqual({
      libDir: '/usr/local/lib/eitri',
      link: '/usr/local/bin/eitri-agent',
      stateDir: '/var/lib/eitri',
      socket: '/run/eitri/agent.sock',
    })
  })

  it('every other login has its own, and so has root when it asks for it', () => {
    expect(agentPlaces(bob)).toEqual({
      libDir: '/home/bob/.local/lib/eitri',
      link: '/home/bob/.local/bin/eitri-agent',
      stateDir: '/home/bob/.local/state/eitri',
      socket: '/home/bob/.local/state/eitri/run/agent.sock',
    })
    expect(agentPlaces(root, { asUser: true }).stateDir).toBe('/root/.local/state/eitri')
  })

  it('another state directory brings its own socket, so that two agents never share one', () => {
    expect(agentPlaces(root, { stateDir: '/srv/eitri' }).socket).toBe('/srv/eitri/run/agent.sock')
  })

  it('root shares its socket with the group where there is one, a login with nobody', () => {
    expect(socketAccess(root, GROUPS)).toEqual({ socketMode: 0o660, socketGid: 997 })
    expect(socketAccess(root, 'root:x:0:\n')).toEqual({ socketMode: 0o600 })
    expect(socketAccess(bob, GROUPS)).toEqual({ socketMode: 0o600 })
    expect(groupId('eitr', GROUPS)).toBeUndefined()
  })
})
