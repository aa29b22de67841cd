import { describe, expect, it } from 'vitest'
import { type ConsoleFrame, decodeConsoleFrame, encodeConsoleFrame } from '../../../../../src/ipc/console-frames.ts'
import { LIMITS } from '../../../../../src/ipc/units.ts'
import {
  type ConsoleLine,
  ConsoleSession,
  type SessionTarget,
} from '../../../../../src/renderer/features/consoles/console-session.ts'

type Listener = Parameters<ConsoleLine['join']>[0]

/** A session between a scripted broker and a screen whose parsing the test drives. */
function aConsole(target: SessionTarget = { kind: 'console', vmId: 'web-1' }) {
  const sent: ConsoleFrame[] = []
  const clock = { now: 0 }
  const queue: { bytes: Uint8Array | string; done: () => void }[] = []
  const joined: Listener[] = []
  const left: number[] = []
  let listener: Listener | undefined
  let screen = ''
  const line: ConsoleLine = {
    join: (l) => {
      joined.push(l)
      listener ??= l
      return joined.length
    },
    leave: (id) => {
      left.push(id)
    },
    send: (frame) => {
      sent.push(frame)
      return true
    },
  }
  const session = new ConsoleSession(
    target,
    line,
    { write: (bytes, done) => queue.push({ bytes, done }) },
    () => clock.now,
  )
  const tell = (frame: ConsoleFrame) => listener?.onFrame(frame)
  return {
    session,
    sent,
    clock,
    joined,
    left,
    power: (link: 'live' | 'stopped') => tell({ type: 'state', id: 1, link, detail: '' }),
    up: () => listener?.onUp(),
    down: () => listener?.onDown(),
    tell,
    opened: (start: bigint, end: bigint) => {
      tell({ type: 'opened', id: 1, start, end, head: 0n, title: '' })
      tell({ type: 'keyboard', id: 1, holder: true })
    },
    data: (offset: bigint, text: string | Uint8Array) =>
      tell({ type: 'data', id: 1, offset, bytes: typeof text === 'string' ? new TextEncoder().encode(text) : text }),
    /** Parses what is queued, one piece or all. */
    parse: (pieces = queue.length) => {
      for (const { bytes, done } of queue.splice(0, pieces)) {
        screen += typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes)
        done()
      }
    },
    screen: () => screen,
    inputs: () => sent.flatMap((f) => (f.type === 'input' ? [new TextDecoder().decode(f.bytes)] : [])),
    acks: () => sent.flatMap((f) => (f.type === 'ack' ? [f.offset] : [])),
  }
}

describe('a console session', () => {
  it('asks for the tail the first time', () => {
    const c = aConsole()
    c.up()
    expect(c.sent[0]).toMatchObject({ type: 'open', vm: 'web-1', tailBytes: 262_144 })
  })

  it('drops the answers of the terminal to text of the past', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 5n)
    c.data(0n, '\x1b[6nx')
    expect(c.session.input('\x1b[1;1R', 'terminal')).toBe(false)
    expect(c.inputs()).toEqual([])
  })

  it('sends what a person types even while the past is replayed', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 5n)
    expect(c.session.input('q', 'person')).toBe(true)
  })

  it('lets the terminal answer a query right behind the past, in the same message', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 4n)
    c.data(0n, 'past\x1b[6n')
    c.parse(1)
    expect(c.session.state.replaying).toBe(false)
    expect(c.session.input('\x1b[1;1R', 'terminal')).toBe(true)
  })

  it('does not call it replaying when there is no past', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    expect(c.session.state.replaying).toBe(false)
  })

  it('is silent until the guest has printed its first byte', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    expect(c.session.state.silent).toBe(true)
    c.data(0n, 'x')
    expect(c.session.state.silent).toBe(false)
  })

  it('acks what is parsed, not what is received, once per 64 KiB', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    const before = c.acks().length
    for (let i = 0; i < 4; i++) c.data(BigInt(i * 40_000), new Uint8Array(40_000))
    expect(c.acks()).toHaveLength(before)
    c.parse()
    expect(c.acks().slice(before)).toEqual([80_000n, 160_000n])
  })

  it('never leaves 128 KiB unacknowledged, or the sender would not go on', () => {
    expect(LIMITS.consoleAckBytes).toBeLessThan(LIMITS.consoleWindowLowBytes)
  })

  it('goes on in place from the next byte after the link was lost', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'one ')
    c.down()
    expect(c.session.state.link).toBe('lost')
    c.up()
    expect(c.sent.at(-1)).toMatchObject({ type: 'open', from: 4n })
    c.opened(4n, 8n)
    c.data(4n, 'two ')
    c.parse()
    expect(c.screen()).toBe('one two ')
  })

  it('shows bytes once that come twice', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'abcd')
    c.data(2n, 'cdef')
    c.data(0n, 'ab')
    c.parse()
    expect(c.screen()).toBe('abcdef')
  })

  it('mutes answers to what was missed while away, too', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'ab')
    c.parse()
    c.down()
    c.up()
    c.opened(2n, 6n)
    c.tell({ type: 'state', id: 1, link: 'live', detail: '' })
    expect(c.session.input('\x1b[0n', 'terminal')).toBe(false)
    c.data(2n, 'cdef')
    c.parse()
    expect(c.session.input('\x1b[0n', 'terminal')).toBe(true)
  })

  it('marks what the host no longer keeps, and goes on behind it', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'ab')
    c.tell({ type: 'skipped', id: 1, from: 2n, to: 1_200_002n })
    c.data(1_200_002n, 'cd')
    c.parse()
    expect(c.screen()).toMatch(/^ab.*1\.2 MB skipped.*cd$/s)
    expect(c.session.offset).toBe(1_200_004n)
  })

  it('marks a hole nobody announced', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'ab')
    c.data(10n, 'cd')
    c.parse()
    expect(c.screen()).toContain('8 B skipped')
  })

  it('leaves the modes of a program behind a hole', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.tell({ type: 'skipped', id: 1, from: 0n, to: 9n })
    c.parse()
    expect(c.screen()).toContain('\x1b[?1049l')
  })

  it.each([
    [
      'another viewer holds the keyboard',
      (c: ReturnType<typeof aConsole>) => c.tell({ type: 'keyboard', id: 1, holder: false }),
    ],
    [
      'the VM is off',
      (c: ReturnType<typeof aConsole>) => c.tell({ type: 'state', id: 1, link: 'stopped', detail: '' }),
    ],
    [
      'the host does not answer',
      (c: ReturnType<typeof aConsole>) => c.tell({ type: 'state', id: 1, link: 'reconnecting', detail: '' }),
    ],
    ['the app does not answer', (c: ReturnType<typeof aConsole>) => c.down()],
  ])('sends nothing while %s', (_why, happen) => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    happen(c)
    expect(c.session.input('x', 'person')).toBe(false)
    expect(c.inputs()).toEqual([])
  })

  it('cuts a large paste into messages the wire takes', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.session.input('x'.repeat(150_000), 'person')
    expect(c.inputs().map((t) => t.length)).toEqual([65_536, 65_536, 18_928])
  })

  it('stays closed once the broker closed it, and says why', () => {
    const c = aConsole()
    c.up()
    c.tell({ type: 'close', id: 1, reason: 'console unavailable: web-1 is gone' })
    c.down()
    expect(c.session.state).toMatchObject({ link: 'closed', detail: 'console unavailable: web-1 is gone' })
  })

  it('draws a line between two boots, where the broker says so', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.power('live')
    c.data(0n, 'one')
    c.power('stopped')
    c.power('live')
    c.data(3n, 'two')
    c.parse()
    expect(c.screen()).toMatch(/^one.*── started again ──.*two$/s)
    expect(c.session.offset).toBe(6n)
  })

  it('draws no line when only the link comes back, before a first boot, or in the middle of the past', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.power('stopped')
    c.power('live')
    c.data(0n, 'one')
    c.down()
    c.up()
    c.opened(3n, 9n)
    c.power('live')
    c.power('stopped')
    c.data(3n, 'two')
    c.power('live')
    c.data(6n, 'three')
    c.parse()
    expect(c.screen()).toBe('onetwothree')
  })

  it('knows when the guest last printed, once it was seen to', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 4n)
    c.data(0n, 'past')
    expect(c.session.printedAtMs).toBeUndefined()
    c.clock.now = 7
    c.data(4n, 'x')
    expect(c.session.printedAtMs).toBe(7)
  })

  it('tells its viewers only when something changed', () => {
    const c = aConsole()
    let told = 0
    c.session.subscribe(() => told++)
    c.up()
    c.opened(0n, 0n)
    const after = told
    c.tell({ type: 'state', id: 1, link: 'live', detail: '' })
    expect(told).toBe(after)
  })

  it('rests while nobody looks, and goes on behind its last byte', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'abc')
    c.session.rest()
    expect(c.left).toEqual([1])
    expect(c.session.state).toMatchObject({ link: 'resting', keyboard: false })
    c.session.resume()
    c.joined[1]?.onUp()
    expect(c.sent.at(-1)).toMatchObject({ type: 'open', id: 2, from: 3n })
  })

  it('is opened again by its person after it was closed', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.tell({ type: 'close', id: 1, reason: 'too many' })
    c.session.reopen()
    expect(c.session.state).toMatchObject({ link: 'opening', detail: '' })
    expect(c.joined).toHaveLength(2)
  })

  it('says that another viewer took the keyboard, until it is back', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.tell({ type: 'keyboard', id: 1, holder: false })
    expect(c.session.state.detail).toBe('another viewer took the keyboard')
    c.session.takeKeyboard()
    expect(c.sent.at(-1)).toEqual({ type: 'take-keyboard', id: 1 })
    c.tell({ type: 'keyboard', id: 1, holder: true })
    expect(c.session.state.detail).toBe('')
  })
})

describe('output that comes too fast', () => {
  const MiB = 1024 * 1024
  const piece = new Uint8Array(64 * 1024)
  const pour = (c: ReturnType<typeof aConsole>, from: number, pieces: number) => {
    for (let i = 0; i < pieces; i++) c.data(BigInt(from + i * piece.length), piece)
    c.parse()
  }
  /** Fast for long enough that somebody asks where the end is. */
  const fast = () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.clock.now = 10_000
    pour(c, 0, 40)
    c.clock.now = 12_001
    pour(c, 40 * piece.length, 1)
    return c
  }

  it('is asked for its end only when it is fast', () => {
    const slow = aConsole()
    slow.up()
    slow.opened(0n, 0n)
    slow.clock.now = 10_000
    pour(slow, 0, 2)
    slow.clock.now = 20_000
    pour(slow, 128 * 1024, 2)
    expect(slow.joined).toHaveLength(1)
    expect(fast().joined).toHaveLength(2)
  })

  it('goes on in place while it is followed closely', () => {
    const c = fast()
    c.joined[1]?.onUp()
    expect(c.sent.at(-1)).toMatchObject({ type: 'open', id: 2, tailBytes: 0, readOnly: true })
    const end = c.session.offset + BigInt(MiB)
    c.joined[1]?.onFrame({ type: 'opened', id: 2, start: end, end, head: 0n, title: '' })
    expect(c.left).toEqual([2])
    expect(c.session.state.notShown).toBe(0n)
  })

  it('shows the newest when it is far behind, says how much is only in the log, and keeps the keyboard', () => {
    const c = fast()
    const end = BigInt(64 * MiB)
    c.joined[1]?.onFrame({ type: 'opened', id: 2, start: end, end, head: 0n, title: '' })
    const from = end - BigInt(256 * 1024)
    expect(c.sent.at(-1)).toMatchObject({ type: 'open', id: 1, from })
    const before = c.session.offset
    c.data(before, 'still of the stream before')
    c.tell({ type: 'opened', id: 1, start: from, end, head: 0n, title: '' })
    c.parse()
    expect(c.session.offset).toBe(from)
    expect(c.session.state.notShown).toBe(from - before)
    expect(c.screen()).toContain('came too fast to show')
    expect(c.screen()).not.toContain('still of the stream before')
    expect(c.sent.at(-1)).toEqual({ type: 'take-keyboard', id: 1 })
    c.session.forgetNotShown()
    expect(c.session.state.notShown).toBe(0n)
  })

  it('after a long rest only the newest is asked for', () => {
    const c = aConsole()
    c.up()
    c.opened(0n, 0n)
    c.data(0n, 'abc')
    const end = BigInt(100 * MiB)
    c.tell({ type: 'opened', id: 1, start: 3n, end, head: 0n, title: '' })
    expect(c.sent.at(-1)).toMatchObject({ type: 'open', from: end - BigInt(256 * 1024) })
  })
})

describe('a shell', () => {
  const aShell = () => {
    const c = aConsole({ kind: 'shell', place: { kind: 'vm', ref: 'web', login: '' } })
    c.session.resize({ rows: 40, cols: 120 })
    c.up()
    return c
  }
  const opened = (c: ReturnType<typeof aConsole>, resizes: boolean) =>
    c.tell({ type: 'opened', id: 1, start: 0n, end: 0n, head: 0n, title: 'root@web', ...(resizes ? { resizes } : {}) })

  it('is opened with the size of its view, and told of each other one where it can be', () => {
    const c = aShell()
    expect(c.sent[0]).toEqual({ type: 'open-shell', id: 1, kind: 'vm', ref: 'web', login: '', rows: 40, cols: 120 })
    opened(c, true)
    c.session.resize({ rows: 50, cols: 90 })
    expect(c.sent.at(-1)).toEqual({ type: 'resize', id: 1, rows: 50, cols: 90 })
    const other = aShell()
    opened(other, false)
    const before = other.sent.length
    other.session.resize({ rows: 50, cols: 90 })
    expect(other.sent).toHaveLength(before)
  })

  it.each([
    [
      { rows: 0, cols: 0 },
      { rows: 1, cols: 1 },
    ],
    [
      { rows: Number.NaN, cols: Number.NaN },
      { rows: 1, cols: 1 },
    ],
    [
      { rows: 300, cols: 1536 },
      { rows: 300, cols: 1000 },
    ],
  ])('in a view of %j is told the nearest size it can have: another one would end every console', (view, told) => {
    const c = aShell()
    opened(c, true)
    c.session.resize(view)
    expect(decodeConsoleFrame(encodeConsoleFrame(c.sent.at(-1)!))).toEqual({ type: 'resize', id: 1, ...told })
  })

  it('ends with its connection and says so; another one writes below its text', () => {
    const c = aShell()
    opened(c, true)
    c.data(0n, 'one')
    c.down()
    expect(c.session.state).toMatchObject({ link: 'closed', detail: expect.stringContaining('ended') })
    c.session.reopen()
    c.joined[1]?.onUp()
    expect(c.sent.at(-1)).toMatchObject({ type: 'open-shell', id: 2 })
    opened(c, true)
    c.data(0n, 'two')
    c.parse()
    expect(c.screen()).toMatch(/^one.*another shell.*two$/s)
  })

  it('never rests: it would end', () => {
    const c = aShell()
    opened(c, true)
    c.session.rest()
    c.session.reconnect()
    expect(c.session.state.link).toBe('live')
  })
})
