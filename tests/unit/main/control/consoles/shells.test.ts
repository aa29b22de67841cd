import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConsoleFrame } from '../../../../../src/ipc/console-frames.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { LIMITS } from '../../../../../src/ipc/units.ts'
import type { OpenShell } from '../../../../../src/main/control/consoles/shell.ts'
import {
  exitWords,
  guestSshArguments,
  joinedSshArguments,
  lastWord,
  loginShell,
  sizeCommand,
} from '../../../../../src/main/control/consoles/shell-command.ts'
import { ShellViewer } from '../../../../../src/main/control/consoles/shell-viewer.ts'

const OPEN = { type: 'open-shell', id: 3, kind: 'vm', ref: 'web', login: '', rows: 24, cols: 80 } as const

function aShell(open?: OpenShell) {
  const frames: ConsoleFrame[] = []
  const sizes: string[] = []
  const channel = new PassThrough({ highWaterMark: 4 * 1024 * 1024 })
  const ended = Promise.withResolvers<string>()
  let over = 0
  const viewer = new ShellViewer(OPEN, {
    send: async (frame) => {
      frames.push(frame)
    },
    ended: () => over++,
    inputDrained: () => {},
  })
  const resize = ({ rows, cols }: { rows: number; cols: number }) => sizes.push(`${rows}×${cols}`)
  const run = viewer.run(
    'default',
    OPEN,
    open ?? (async () => ({ channel, title: 'root@web', resize, ended: ended.promise })),
  )
  const dataBytes = () => frames.reduce((sum, f) => sum + (f.type === 'data' ? f.bytes.length : 0), 0)
  return { viewer, frames, sizes, channel, ended, run, over: () => over, dataBytes }
}

describe('one window’s side of a shell', () => {
  it('is open with its first byte, and ends with words', async () => {
    const s = aShell()
    await setImmediate()
    expect(s.frames).toEqual([])
    s.channel.write('$ ')
    await setImmediate()
    expect(s.frames.map(({ type }) => type)).toEqual(['opened', 'keyboard', 'data'])
    expect(s.frames[0]).toMatchObject({ start: 0n, end: 0n, title: 'root@web', resizes: true })
    s.channel.end()
    s.ended.resolve('it was left')
    await s.run
    expect(s.frames.at(-1)).toEqual({ type: 'close', id: 3, reason: 'root@web: it was left' })
    expect(s.over()).toBe(1)
  })

  it('sends no more than a window of bytes that were not shown, and goes on when they are', async () => {
    const s = aShell()
    s.channel.write(Buffer.alloc(2_000_000))
    await expect.poll(s.dataBytes).toBeGreaterThanOrEqual(LIMITS.consoleWindowBytes)
    await setImmediate()
    const held = s.dataBytes()
    expect(held).toBeLessThan(LIMITS.consoleWindowBytes + LIMITS.consoleChunkBytes)
    s.viewer.ack(BigInt(held))
    await expect.poll(s.dataBytes).toBeGreaterThan(held)
    s.viewer.close()
    await s.run
  })

  it('an ack of what was never sent is none', async () => {
    const s = aShell()
    s.channel.write(Buffer.alloc(2_000_000))
    await expect.poll(s.dataBytes).toBeGreaterThanOrEqual(LIMITS.consoleWindowBytes)
    const held = s.dataBytes()
    s.viewer.ack(2n ** 60n)
    await setImmediate()
    expect(s.dataBytes()).toBe(held)
    s.viewer.close()
    await s.run
  })

  it('hands on each size, and ends its shell when the window goes', async () => {
    const s = aShell()
    await setImmediate()
    s.viewer.resize({ rows: 40, cols: 100 })
    expect(s.sizes).toEqual(['40×100'])
    s.viewer.close()
    await s.run
    expect(s.channel.destroyed).toBe(true)
    expect(s.frames.some(({ type }) => type === 'close')).toBe(false)
  })

  it('says in words why there is none', async () => {
    const s = aShell(async () => {
      throw new Fault('host/no-answer', 'transient', { host: 'rack' })
    })
    await s.run
    expect(s.frames).toEqual([{ type: 'close', id: 3, reason: expect.stringContaining('rack') }])
  })
})

describe('how a shell is asked for', () => {
  it('as at a login, in whatever shell runs the line, on a terminal of a size', () => {
    expect(loginShell()).toBe(`exec sh -c 'TERM=xterm-256color; export TERM; exec "\${SHELL:-/bin/sh}" -l'`)
    expect(loginShell({ rows: 33, cols: 101 })).toContain('stty rows 33 cols 101 2>/dev/null; exec')
  })

  it('ssh reads no configuration, asks nobody, trusts one key and lends nothing', () => {
    const args = guestSshArguments({
      login: 'root',
      hostKeyAlias: 'default.web',
      host: 'web.eitri',
      socket: '/run/100%/g1',
      identityAgent: '/run/ssh/root@web.eitri',
      knownHosts: '/run/ssh/root@web.eitri.known',
      node: '/opt/an app/node',
      command: 'true',
    })
    expect(args.slice(0, 2)).toEqual(['-F', 'none'])
    expect(args.slice(-6)).toEqual(['-tt', '-l', 'root', '--', 'web.eitri', 'true'])
    for (const option of ['BatchMode=yes', 'StrictHostKeyChecking=yes', 'EscapeChar=none', 'HostKeyAlias=default.web'])
      expect(args).toContain(option)
    const proxy = args.find((arg) => arg.startsWith('ProxyCommand='))
    expect(proxy).toContain(`'/opt/an app/node'`)
    expect(proxy).toContain(`'/run/100%%/g1'`)
    expect(args.join(' ')).not.toMatch(/ForwardAgent|IdentityFile|-i /)
  })

  it('ssh lets a second session in where there is a socket for it, which never dials by itself', () => {
    const to = { login: 'root', host: 'web.eitri', control: '/run/100%/g1m' }
    const args = joinedSshArguments(to, sizeCommand({ rows: 40, cols: 120 }))
    expect(args).toContain('ControlPath="/run/100%%/g1m"')
    expect(args).toContain('ControlMaster=no')
    expect(args).toContain('ProxyCommand=false')
    expect(args.at(-1)).toContain('stty rows 40 cols 120')
  })

  it('its end is said by what ssh said last, or by how it was left', () => {
    expect(lastWord('one\r\nroot@web: Permission denied (publickey).\r\n\r\n')).toBe(
      'root@web: Permission denied (publickey).',
    )
    expect([exitWords(0), exitWords(7), exitWords(null)]).toEqual([
      'it was left',
      'it was left with status 7',
      'it was ended there',
    ])
  })
})
