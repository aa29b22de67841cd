import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { LIMITS } from '../../../../src/ipc/units.ts'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { type ConsoleEndpoint, consoleEndpoint } from '../../../../src/main/control/consoles/attach.ts'
import { type ConsoleBroker, createConsoleBroker } from '../../../../src/main/control/consoles/broker.ts'
import type { ActiveSession } from '../../../../src/main/control/hosts/agent-connection.ts'
import { FakeConsoleAgent } from '../../../support/fake-console-agent.ts'
import { FakeFleetServer, idOf } from '../../../support/fake-fleet-server.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

let agent: FakeConsoleAgent
let fleet: FakeFleetServer
let broker: ConsoleBroker
let endpoint: ConsoleEndpoint
let session: ActiveSession | undefined

function startBroker() {
  broker = createConsoleBroker({
    openShell: () => Promise.reject(new Error('no shells here')),
    clock: systemClock,
    vms: {
      findForConsole: (_, key) => {
        const vm = [...fleet.vms.values()].find((v) => v.id === key || v.name === key)
        return vm && { id: vm.id, name: vm.name, hostId: 'h', hostName: 'rack2' }
      },
      whyNone: (_, key) => `there is no VM ${key}`,
    },
    sessions: { active: () => session, onSession: () => () => {} },
  })
  endpoint = consoleEndpoint(broker, silentLog)
}

beforeEach(async () => {
  agent = await FakeConsoleAgent.start()
  fleet = await FakeFleetServer.start()
  fleet.server.on('upgrade', (req, socket, head) => endpoint.upgrade(req, socket, head, 'default'))
  session = agent.session('h', 's1')
  fleet.vm({ name: 'web-1' })
  startBroker()
})

afterEach(async () => {
  endpoint.close()
  broker.close()
  await fleet.stop()
  await agent.stop()
})

function eitri(argv: string[], io = new FakeTerminal()) {
  const code = runCli(argv, {
    io,
    now: () => 0,
    apiSocket: () => fleet.socketPath,
    embed: async () => ({ async stop() {} }),
    async serve() {},
  })
  return { io, code }
}

describe('eitri console by pipes', () => {
  it('prints what is recorded and ends, byte for byte', async () => {
    agent.append('boot\r\nlogin: ')
    const { io, code } = eitri(['console', 'web-1', '--no-follow'])
    expect(await code).toBe(0)
    expect({ out: io.out, err: io.err }).toEqual({ out: 'boot\r\nlogin: ', err: '' })
  })

  it('starts where it is told: an offset, or so many bytes before the end', async () => {
    agent.append('0123456789')
    const from = eitri(['console', 'web-1', '--no-follow', '--from', '4'])
    expect([await from.code, from.io.out]).toEqual([0, '456789'])
    const tail = eitri(['console', 'web-1', '--no-follow', '--tail', '3'])
    expect([await tail.code, tail.io.out]).toEqual([0, '789'])
  })

  it('reads a record many windows long', async () => {
    const long = 'x'.repeat(3 * LIMITS.consoleWindowBytes + 17)
    agent.append(long)
    const { io, code } = eitri(['console', 'web-1', '--no-follow'])
    expect(await code).toBe(0)
    expect(io.out.length).toBe(long.length)
  })

  it('is one JSON document with --json', async () => {
    agent.append('héllo')
    const { io, code } = eitri(['console', 'web-1', '--json'])
    expect(await code).toBe(0)
    expect(JSON.parse(io.out)).toEqual({
      vm: 'web-1',
      vm_id: idOf(1),
      start_offset: '0',
      end_offset: '6',
      head_offset: '0',
      text: 'héllo',
      data_base64: Buffer.from('héllo').toString('base64'),
    })
  })

  it('types standard input, prints the answer, and ends once the guest is quiet', async () => {
    agent.append('# ')
    const { io, code } = eitri(['console', 'web-1', '--tail', '0'])
    io.type('echo 42\n')
    await agent.until(() => agent.input.join('') === 'echo 42\n')
    agent.append('42\r\n')
    io.stdin.end()
    expect(await code).toBe(0)
    expect(io.out).toBe('42\r\n')
    expect(io.err).toBe('[connected]\n')
  })

  it('takes the keyboard from a window that has it', async () => {
    const window = eitri(['console', 'web-1'], new FakeTerminal({ tty: true }))
    await window.io.until(() => window.io.err.includes('connected'))
    const { io, code } = eitri(['console', 'web-1'])
    io.stdin.end('ls\n')
    await agent.until(() => agent.input.join('') === 'ls\n')
    await window.io.until(() => window.io.err.includes('another viewer holds the keyboard; Ctrl-] k takes it'))
    window.io.type('\x1dq')
    expect([await window.code, await code]).toEqual([0, 0])
  })

  it('types nothing with --read-only, and Ctrl-C is its end', async () => {
    agent.append('hello')
    const { io, code } = eitri(['console', 'web-1', '--read-only'])
    io.type('rm -rf /\n')
    await io.until(() => io.out === 'hello')
    io.interrupt()
    expect(await code).toBe(0)
    expect(agent.input).toEqual([])
  })

  it('goes on over a restart of the control plane, with every byte once', async () => {
    agent.append('before ')
    const { io, code } = eitri(['console', 'web-1', '--from', '0', '--read-only'])
    await io.until(() => io.out === 'before ')
    endpoint.close()
    broker.close()
    await fleet.pause()
    agent.append('during ')
    startBroker()
    await fleet.listen()
    await io.until(() => io.out === 'before during ')
    agent.append('after')
    await io.until(() => io.out === 'before during after')
    io.interrupt()
    expect(await code).toBe(0)
    expect(io.err).toContain('the control plane went away')
  })

  it('goes on over a lost link to the host', async () => {
    agent.append('one ')
    const { io, code } = eitri(['console', 'web-1', '--from', '0', '--read-only'])
    await io.until(() => io.out === 'one ')
    agent.cut()
    session = agent.session('h', 's2')
    agent.append('two')
    await io.until(() => io.out === 'one two')
    io.interrupt()
    expect(await code).toBe(0)
    expect(io.err).toContain('console unavailable: web-1 on rack2')
  })

  it('exits with 1 for a VM that is not there, and for a host that does not answer when it is not to follow', async () => {
    const unknown = eitri(['console', 'nobody'])
    expect(await unknown.code).toBe(1)
    expect(unknown.io.err).toMatch(/^There is no VM nobody\./)
    session = undefined
    const away = eitri(['console', 'web-1', '--no-follow'])
    expect(await away.code).toBe(1)
    expect(away.io.err).toMatch(/^console unavailable: web-1 on rack2: rack2 stopped answering/)
  })

  it('exits with 3 when no control plane answers, and with 4 at its --timeout', async () => {
    expect(await eitri(['console', 'web-1', '--timeout', '100ms', '--read-only']).code).toBe(4)
    await fleet.pause()
    expect(await eitri(['console', 'web-1']).code).toBe(3)
    await fleet.listen()
  })

  it('ends quietly when nobody reads its output any more', async () => {
    const io = new FakeTerminal()
    vi.spyOn(io.stdout, 'write').mockImplementation(((_: unknown, done: (error: Error) => void) => {
      const error = Object.assign(new Error('broken pipe'), { code: 'EPIPE' })
      done(error)
      io.stdout.emit('error', error)
      return false
    }) as never)
    agent.append('hello')
    expect(await eitri(['console', 'web-1', '--read-only'], io).code).toBe(0)
  })
})

describe('eitri console at a terminal', () => {
  async function attached(...options: string[]) {
    const io = new FakeTerminal({ tty: true })
    const { code } = eitri(['console', 'web-1', ...options], io)
    await io.until(() => io.err.includes('connected') || options.includes('--raw'))
    return { io, code }
  }

  it('passes every key to the guest, Ctrl-C too, until Ctrl-] q', async () => {
    const { io, code } = await attached()
    expect(io.err).toContain('Ctrl-] then q leaves')
    io.type('ls\r\x03')
    io.type('\x1d')
    io.type('\x1d')
    await agent.until(() => agent.input.join('') === 'ls\r\x03\x1d')
    io.type('\x1dq')
    expect(await code).toBe(0)
    expect(io.raw).toEqual([true, false])
  })

  it('does not type what the terminal answers to queries in replayed text', async () => {
    agent.append('old text with a query \x1b[6n')
    const io = new FakeTerminal({ tty: true })
    io.stdout.on('data', (chunk) => {
      if (String(chunk).includes('\x1b[6n')) io.type('\x1b[1;1R\x1b[?62;c')
    })
    const { code } = eitri(['console', 'web-1'], io)
    await io.until(() => io.out.includes('\x1b[6n'))
    await io.until(() => io.err.includes('connected'))
    io.type('x\x1b[A')
    await agent.until(() => agent.input.join('').includes('A'))
    expect(agent.input.join('')).toBe('x\x1b[A')
    io.type('\x1d.')
    expect(await code).toBe(0)
  })

  it('knows no escape key and says nothing with --raw', async () => {
    const { io, code } = await attached('--raw')
    io.type('\x1dq')
    await agent.until(() => agent.input.join('') === '\x1dq')
    io.interrupt()
    expect(await code).toBe(0)
    expect(io.err).toBe('')
  })
})

describe('vm wait --console', () => {
  it('finds a text that came in pieces, from the beginning of the record', async () => {
    agent.append('booting\r\nlog')
    const { code } = eitri(['vm', 'wait', 'web-1', '--console', 'login:'])
    await agent.until(() => agent.acks.length > 0)
    agent.append('in: ')
    expect(await code).toBe(0)
  })

  it('looks only after the offset it is given, and gives up at its deadline', async () => {
    agent.append('login: ')
    const { code, io } = eitri(['vm', 'wait', 'web-1', '--console', 'login:', '--from', '3', '--timeout', '200ms'])
    expect(await code).toBe(4)
    expect(io.err).toContain('Not done within 0.2 s')
  })
})
