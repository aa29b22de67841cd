import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../src/ipc/base/clock.ts'
import type { ConsoleFrame } from '../../../../../src/ipc/console-frames.ts'
import { toConnectError } from '../../../../../src/ipc/fault-wire.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { LIMITS } from '../../../../../src/ipc/units.ts'
import { type ConsoleBroker, createConsoleBroker } from '../../../../../src/main/control/consoles/broker.ts'
import type { ConsoleViewer, ConsoleVm } from '../../../../../src/main/control/consoles/viewer.ts'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { Registry } from '../../../../../src/main/control/sync/registry.ts'
import { FakeConsoleAgent } from '../../../../support/fake-console-agent.ts'

const VM: ConsoleVm = { id: 'a'.repeat(32), name: 'web-1', hostId: 'b'.repeat(32), hostName: 'rack2-07' }

class Window {
  readonly frames: ConsoleFrame[] = []
  viewer!: ConsoleViewer | undefined
  drained = 0
  ended = 0
  #changed: () => void = () => {}
  readonly #id: number

  constructor(
    broker: ConsoleBroker,
    open: { from?: bigint; tailBytes?: number; readOnly?: boolean; vm?: string } = {},
    id = 1,
  ) {
    this.#id = id
    this.viewer = broker.open(
      'default',
      { type: 'open', id, vm: VM.name, ...open },
      {
        send: async (frame) => {
          this.frames.push(frame)
          this.#changed()
        },
        ended: () => {
          this.ended++
        },
        inputDrained: () => {
          this.drained++
        },
      },
    )
  }

  of<T extends ConsoleFrame['type']>(type: T) {
    return this.frames.filter((f): f is Extract<ConsoleFrame, { type: T }> => f.type === type)
  }

  get text(): string {
    return Buffer.concat(this.of('data').map((f) => f.bytes)).toString()
  }

  get next(): bigint {
    const last = this.of('data').at(-1)
    return last ? last.offset + BigInt(last.bytes.length) : 0n
  }

  get link(): string | undefined {
    return this.of('state').at(-1)?.link
  }

  get holder(): boolean | undefined {
    return this.of('keyboard').at(-1)?.holder
  }

  type(text: string): boolean {
    return this.viewer!.input(new TextEncoder().encode(text))
  }

  async until(test: () => boolean): Promise<this> {
    while (!test())
      await new Promise<void>((resolve) => {
        this.#changed = resolve
      })
    expect(this.frames.every((f) => f.id === this.#id)).toBe(true)
    return this
  }
}

let agent: FakeConsoleAgent
let session: ActiveSession | undefined
let listeners: Set<(session: ActiveSession | undefined) => void>
let vms: ConsoleVm[]
let broker: ConsoleBroker

function startSession(id: string) {
  session = agent.session(VM.hostId, id)
  for (const listener of listeners) listener(session)
}

beforeEach(async () => {
  agent = await FakeConsoleAgent.start()
  listeners = new Set()
  vms = [VM]
  startSession('s1')
  broker = createConsoleBroker({
    openShell: () => Promise.reject(new Error('no shells here')),
    clock: systemClock,
    vms: {
      findForConsole: (_, key) => vms.find((vm) => vm.id === key || vm.name === key),
      whyNone: (_, key) => `there is no VM ${key}`,
    },
    sessions: {
      active: () => session,
      onSession: (_, listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  })
})

afterEach(async () => {
  broker.close()
  await agent.stop()
})

describe('a console and the sessions of its host', () => {
  it('SYN-15, SYN-16: it opens over the connection the one registry has now, and moves on when that is superseded', async () => {
    const registry = new Registry()
    const shared = createConsoleBroker({
      openShell: () => Promise.reject(new Error('no shells here')),
      clock: systemClock,
      vms: { findForConsole: () => VM, whyNone: () => '' },
      sessions: registry,
    })
    const window = new Window(shared)
    try {
      await window.until(() => window.link === 'reconnecting')
      expect(agent.opens).toEqual([])
      const older = agent.session(VM.hostId, 'older')
      registry.sessionStarted(older)
      await window.until(() => window.link === 'live')
      registry.sessionStarted(agent.session(VM.hostId, 'newer'))
      older.connection.close(new Fault('agent/superseded', 'transient'))
      registry.sessionEnded(older)
      await agent.until(() => agent.opens.length === 2)
      expect(agent.opens.map((open) => open.sessionId)).toEqual(['older', 'newer'])
    } finally {
      shared.close()
    }
  })
})

describe('a console viewer', () => {
  it('CON-01: reads the log from the offset it asks for and goes on with what comes', async () => {
    agent.append('hello ')
    const window = await new Window(broker, { from: 2n }).until(() => true)
    await window.until(() => window.text === 'llo ')
    agent.append('world')
    await window.until(() => window.text === 'llo world')
    expect(window.of('opened')[0]).toEqual({ type: 'opened', id: 1, start: 2n, end: 6n, head: 0n, title: 'web-1' })
    expect(window.link).toBe('live')
    expect(agent.opens[0]?.sessionId).toBe('s1')
  })

  it('starts a tail before the end when it names no offset', async () => {
    agent.append('0123456789')
    const window = new Window(broker, { tailBytes: 3 })
    await window.until(() => window.text === '789')
  })

  it('SER-03: passes input to the guest byte for byte', async () => {
    const window = new Window(broker)
    await window.until(() => window.holder === true)
    window.type('ls\r\x00\xff')
    await agent.until(() => agent.input.length > 0)
    expect(agent.input.join('')).toBe('ls\r\x00\xff')
  })

  it('goes on from its own next offset when the link is lost and a new session starts', async () => {
    agent.append('before ')
    const window = new Window(broker, { from: 0n })
    await window.until(() => window.text === 'before ')
    session = undefined
    agent.cut()
    await window.until(() => window.link === 'reconnecting')
    agent.append('during ')
    startSession('s2')
    agent.append('after')
    await window.until(() => window.text === 'before during after')
    expect(window.of('data').map((f) => f.offset)).toEqual(
      window.of('data').map((_, i, all) => all.slice(0, i).reduce((sum, f) => sum + BigInt(f.bytes.length), 0n)),
    )
    expect(window.of('skipped')).toEqual([])
    expect(agent.opens.at(-1)).toMatchObject({ sessionId: 's2', fromOffset: 7n })
    expect(window.link).toBe('live')
  })

  it('CON-02: names VM and host while there is no way to the agent', async () => {
    session = undefined
    const window = new Window(broker)
    await window.until(() => window.link === 'reconnecting')
    expect(window.of('state')[0]?.detail).toMatch(/^console unavailable: web-1 on rack2-07: rack2-07 stopped answering/)
  })

  it('CON-03: keeps a reason of many-byte letters within 120 bytes and whole', async () => {
    session = undefined
    vms[0] = { ...VM, hostName: 'ホ'.repeat(60) }
    const window = new Window(broker)
    await window.until(() => window.link === 'reconnecting')
    const detail = window.of('state')[0]!.detail
    expect(Buffer.byteLength(detail)).toBeLessThanOrEqual(120)
    expect(detail).toMatch(/^console unavailable: web-1 on ホ+$/)
  })

  it('tries again by itself when the agent refuses', async () => {
    agent.refuseWith = toConnectError(new Fault('vm/not-found', 'permanent', {}))
    const window = new Window(broker)
    await window.until(() => window.link === 'reconnecting')
    expect(window.of('state')[0]?.detail).toContain('the host has not made it yet')
    agent.refuseWith = undefined
    await window.until(() => window.link === 'live')
  })

  it('CON-06: answers an unknown VM with a final close', async () => {
    const window = new Window(broker, { vm: 'nobody' })
    expect(window.viewer).toBeUndefined()
    expect(window.frames).toEqual([{ type: 'close', id: 1, reason: 'console unavailable: there is no VM nobody' }])
  })

  it('closes for good when the VM is gone', async () => {
    const window = new Window(broker)
    await window.until(() => window.link === 'live')
    vms.length = 0
    agent.cut()
    startSession('s2')
    await window.until(() => window.of('close').length > 0)
    expect(window.of('close')[0]?.reason).toBe('console unavailable: web-1 on rack2-07: the VM is gone')
    expect(window.ended).toBe(1)
  })

  it('says stopped while the VM is off and goes on when it starts', async () => {
    const window = new Window(broker)
    await window.until(() => window.link === 'live')
    agent.power(false)
    await window.until(() => window.link === 'stopped')
    agent.power(true)
    agent.append('booting')
    await window.until(() => window.text === 'booting')
    expect(window.link).toBe('live')
  })

  it('says in words that the guest did not take input', async () => {
    const window = new Window(broker)
    await window.until(() => window.link === 'live')
    agent.refuseInput('web-1 is off')
    await window.until(() => window.of('state').at(-1)?.detail === 'web-1 is off')
    expect(window.link).toBe('live')
  })

  it('passes on that the head of the log is gone', async () => {
    agent.append('0123456789')
    agent.head = 4n
    const window = new Window(broker, { from: 1n })
    await window.until(() => window.text === '456789')
    expect(window.of('skipped')).toEqual([{ type: 'skipped', id: 1, from: 1n, to: 4n }])
  })
})

describe('flow control', () => {
  const flood = new Uint8Array(2 * 1024 * 1024).fill(0x61)

  it('passes acks on to the agent, which sends no more than its window', async () => {
    agent.append(flood)
    const window = new Window(broker, { from: 0n })
    await window.until(() => window.next >= BigInt(LIMITS.consoleWindowBytes))
    expect(agent.sent).toBe(BigInt(LIMITS.consoleWindowBytes))
    while (window.next < BigInt(flood.length)) {
      const before = window.next
      window.viewer!.ack(before)
      await window.until(() => window.next > before)
    }
    expect(window.text.length).toBe(flood.length)
  })

  it('stops at the window even when the agent does not keep to it', async () => {
    agent.keepsWindow = false
    agent.append(flood)
    const window = new Window(broker, { from: 0n })
    const full = BigInt(LIMITS.consoleWindowBytes)
    await window.until(() => window.next >= full)
    const other = new Window(broker, { from: 0n }, 2)
    await other.until(() => other.next >= full)
    expect(window.next).toBe(full)
    window.viewer!.ack(full - BigInt(LIMITS.consoleWindowLowBytes))
    expect(window.next).toBe(full)
    window.viewer!.ack(full - BigInt(LIMITS.consoleWindowLowBytes) + 1n)
    await window.until(() => window.next > full)
  })

  it('does not count skipped bytes as unshown', async () => {
    agent.append(flood)
    agent.head = BigInt(flood.length - 10)
    const window = new Window(broker, { from: 0n })
    await window.until(() => window.text.length === 10)
    agent.append('more')
    await window.until(() => window.text.endsWith('more'))
  })

  it('asks to stop typing while the guest does not read, and says when it reads again', async () => {
    const window = new Window(broker)
    await window.until(() => window.holder === true)
    const chunk = new Uint8Array(LIMITS.consoleInputBytes)
    let taken = 0
    while (window.viewer!.input(chunk)) taken++
    expect(taken).toBe(3)
    const before = window.drained
    await agent.until(() => agent.input.length === taken + 1)
    expect(window.drained).toBeGreaterThan(before)
  })
})

describe('the keyboard', () => {
  it('belongs to the first viewer; the second is told and its input goes nowhere', async () => {
    const first = new Window(broker)
    await first.until(() => first.holder === true)
    const second = new Window(broker, {}, 2)
    await second.until(() => second.holder === false)
    second.type('rm -rf /')
    await second.until(() => second.of('state').at(-1)?.detail === 'another viewer holds the keyboard')
    first.type('x')
    await agent.until(() => agent.input.length > 0)
    expect(agent.input).toEqual(['x'])
  })

  it('is taken by who asks, and the one before is told', async () => {
    const first = new Window(broker)
    await first.until(() => first.holder === true)
    const second = new Window(broker, { readOnly: true }, 2)
    await second.until(() => second.holder === false)
    second.viewer!.takeKeyboard()
    expect([first.holder, second.holder]).toEqual([false, true])
  })

  it('goes to the oldest viewer that may type when its holder leaves', async () => {
    const first = new Window(broker)
    await first.until(() => first.holder === true)
    const watcher = new Window(broker, { readOnly: true }, 2)
    const third = new Window(broker, {}, 3)
    await third.until(() => third.holder === false)
    first.viewer!.close()
    await third.until(() => third.holder === true)
    await watcher.until(() => watcher.holder === false)
  })

  it('is not given to a viewer that only reads', async () => {
    const watcher = new Window(broker, { readOnly: true })
    await watcher.until(() => watcher.holder === false)
  })
})
