import { beforeEach, describe, expect, it } from 'vitest'
import {
  broadcastInput,
  joinBroadcast,
  setBroadcast,
  useBroadcast,
  whoReceives,
} from '../../../../../src/renderer/features/consoles/broadcast.ts'

const pane = (keyboard = true, link = 'live') => {
  const got: string[] = []
  const listeners: (() => void)[] = []
  return {
    got,
    subscribe: (listener: () => void) => {
      listeners.push(listener)
      return () => {}
    },
    lose() {
      this.state.keyboard = false
      for (const listener of listeners) listener()
    },
    state: { link, keyboard },
    input: (text: string) => {
      got.push(text)
      return true
    },
  }
}

describe('typing into several consoles', () => {
  beforeEach(() => useBroadcast.setState({ on: false, panes: new Map(), names: new Map() }))

  it('is off until it is switched on', () => {
    const web = pane()
    joinBroadcast('web', web, 'web')
    expect(broadcastInput(web, 'x', 0)).toBe(false)
    expect(web.got).toEqual([])
  })

  it('goes to every pane shown that takes keys, and to no other', () => {
    const [web, mail, readOnly, lost] = [pane(), pane(), pane(false), pane(true, 'reconnecting')]
    joinBroadcast('web', web, 'web')
    const leave = joinBroadcast('mail', mail, 'mail')
    joinBroadcast('other', readOnly, 'other')
    joinBroadcast('lost', lost, 'lost')
    setBroadcast(true)
    expect(broadcastInput(web, 'ls', 0)).toBe(true)
    leave()
    broadcastInput(web, '\r', 1)
    expect([web, mail, readOnly, lost].map(({ got }) => got)).toEqual([['ls', '\r'], ['ls'], [], []])
  })

  it('names the panes that take it and those that do not, also when a pane loses its keyboard meanwhile', () => {
    const web = pane()
    joinBroadcast('web', web, 'web')
    joinBroadcast('mail', pane(), 'mail')
    joinBroadcast('other', pane(false), 'db-3')
    expect(whoReceives(useBroadcast.getState())).toEqual({ takes: ['web', 'mail'], left: ['db-3'] })
    let told = 0
    useBroadcast.subscribe(() => told++)
    web.lose()
    expect(told).toBe(1)
    expect(whoReceives(useBroadcast.getState())).toEqual({ takes: ['mail'], left: ['web', 'db-3'] })
  })

  it('a console of another screen is typed into alone', () => {
    joinBroadcast('web', pane(), 'web')
    setBroadcast(true)
    expect(broadcastInput(pane(), 'x', 0)).toBe(false)
  })

  it('the second Esc ends it and goes nowhere; one Esc, or two far apart, are the guests’', () => {
    const web = pane()
    joinBroadcast('web', web, 'web')
    setBroadcast(true)
    broadcastInput(web, '\x1b', 0)
    broadcastInput(web, '\x1b', 5_000)
    expect(useBroadcast.getState().on).toBe(true)
    broadcastInput(web, '\x1b', 5_100)
    expect(useBroadcast.getState().on).toBe(false)
    expect(web.got).toEqual(['\x1b', '\x1b'])
  })
})
