import { beforeEach, describe, expect, it } from 'vitest'
import {
  broadcastInput,
  joinBroadcast,
  setBroadcast,
  useBroadcast,
} from '../../../../../src/renderer/features/consoles/broadcast.ts'

const pane = (keyboard = true, link = 'live') => {
  const got: string[] = []
  return {
    got,
    state: { link, keyboard },
    input: (text: string) => {
      got.push(text)
      return true
    },
  }
}

describe('typing into several consoles', () => {
  beforeEach(() => useBroadcast.setState({ on: false, panes: new Map() }))

  it('is off until it is switched on', () => {
    const web = pane()
    joinBroadcast('web', web)
    expect(broadcastInput(web, 'x', 0)).toBe(false)
    expect(web.got).toEqual([])
  })

  it('goes to every pane shown that takes keys, and to no other', () => {
    const [web, mail, readOnly, lost] = [pane(), pane(), pane(false), pane(true, 'reconnecting')]
    joinBroadcast('web', web)
    const leave = joinBroadcast('mail', mail)
    joinBroadcast('other', readOnly)
    joinBroadcast('lost', lost)
    setBroadcast(true)
    expect(broadcastInput(web, 'ls', 0)).toBe(true)
    leave()
    broadcastInput(web, '\r', 1)
    expect([web, mail, readOnly, lost].map(({ got }) => got)).toEqual([['ls', '\r'], ['ls'], [], []])
  })

  it('a console of another screen is typed into alone', () => {
    joinBroadcast('web', pane())
    setBroadcast(true)
    expect(broadcastInput(pane(), 'x', 0)).toBe(false)
  })

  it('the second Esc ends it and goes nowhere; one Esc, or two far apart, are the guests’', () => {
    const web = pane()
    joinBroadcast('web', web)
    setBroadcast(true)
    broadcastInput(web, '\x1b', 0)
    broadcastInput(web, '\x1b', 5_000)
    expect(useBroadcast.getState().on).toBe(true)
    broadcastInput(web, '\x1b', 5_100)
    expect(useBroadcast.getState().on).toBe(false)
    expect(web.got).toEqual(['\x1b', '\x1b'])
  })
})
