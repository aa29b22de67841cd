import { describe, expect, it } from 'vitest'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../../../src/ipc/console-frames.ts'
import type { DuplexEvents } from '../../../../src/renderer/api/console-duplex.ts'
import { ConsoleWire } from '../../../../src/renderer/api/console-wire.ts'

function aWire() {
  const duplexes: (DuplexEvents & { sent: ConsoleFrame[]; closed: boolean })[] = []
  const timers: (() => void)[] = []
  const wire = new ConsoleWire({
    open: (events) => {
      const duplex = { ...events, sent: [] as ConsoleFrame[], closed: false }
      duplexes.push(duplex)
      return {
        send: (frame) => duplex.sent.push(decodeConsoleFrame(frame)),
        close: () => {
          duplex.closed = true
        },
      }
    },
    setTimer: (run) => {
      timers.push(run)
      return () => timers.splice(timers.indexOf(run), 1)
    },
  })
  const heard: string[] = []
  const join = (name: string) =>
    wire.join({
      onUp: () => heard.push(`${name} up`),
      onDown: () => heard.push(`${name} down`),
      onFrame: (frame) => heard.push(`${name} ${frame.type}`),
    })
  return { wire, duplexes, timers, heard, join }
}

describe('the wire all consoles of a window share', () => {
  it('is opened once for many consoles', () => {
    const w = aWire()
    w.join('a')
    w.join('b')
    w.duplexes[0]?.onOpen()
    expect(w.duplexes).toHaveLength(1)
    expect(w.heard).toEqual(['a up', 'b up'])
  })

  it('tells a console that joins later that it is up', async () => {
    const w = aWire()
    w.join('a')
    w.duplexes[0]?.onOpen()
    w.join('b')
    await Promise.resolve()
    expect(w.heard).toEqual(['a up', 'b up'])
  })

  it('hands each frame to the console it is for', () => {
    const w = aWire()
    w.join('a')
    const b = w.join('b')
    w.duplexes[0]?.onOpen()
    w.duplexes[0]?.onFrame(encodeConsoleFrame({ type: 'keyboard', id: b, holder: true }))
    expect(w.heard.at(-1)).toBe('b keyboard')
  })

  it('opens again after it was lost, and then every console asks for what is missing', () => {
    const w = aWire()
    w.join('a')
    w.duplexes[0]?.onOpen()
    w.duplexes[0]?.onClose('')
    expect(w.wire.send({ type: 'take-keyboard', id: 1 })).toBe(false)
    w.timers[0]?.()
    w.duplexes[1]?.onOpen()
    expect(w.heard).toEqual(['a up', 'a down', 'a up'])
  })

  it('is closed with the last console, and not opened again', () => {
    const w = aWire()
    const a = w.join('a')
    w.duplexes[0]?.onOpen()
    w.wire.leave(a)
    expect(w.duplexes[0]).toMatchObject({ closed: true, sent: [{ type: 'close', id: a }] })
    w.duplexes[0]?.onClose('')
    expect(w.timers).toEqual([])
  })
})
