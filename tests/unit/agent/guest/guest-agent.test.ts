import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GuestAgent } from '../../../../src/agent/guest/guest-agent.ts'
import { FakeGuestAgent, type GuestCommands, programs, refuses, returns } from '../../../support/fake-guest-agent.ts'

describe('a guest agent', () => {
  let dir: string
  let peer: FakeGuestAgent
  let agent: GuestAgent
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-qga-'))
  })
  afterEach(async () => {
    agent.close()
    await peer?.close()
    await rm(dir, { recursive: true })
  })

  const facing = async (commands: GuestCommands, times: { answerMs?: number; execMs?: number } = {}) => {
    const path = join(dir, 'qga')
    peer = await FakeGuestAgent.listen(path, commands)
    agent = new GuestAgent({ connect: async () => connect(path), answerMs: 10_000, ...times })
  }

  it('answers a command after the mark, whatever stray lines and half lines came before it', async () => {
    await facing({ 'guest-get-time': () => returns(1_700_000_000_000_000_000) })
    peer.before = Buffer.concat([
      Buffer.from('{"return": 1}\nlogin: \u0000garbage\n{"return": {"half'),
      Buffer.of(0xfe, 0xff),
      Buffer.from('{"return": 77}\n'),
    ])
    expect(await agent.time()).toBe(1_700_000_000_000_000_000)
    expect(await agent.time()).toBe(1_700_000_000_000_000_000)
    expect(peer.connections).toBe(1)
  })

  it('answers in as many pieces as it likes', async () => {
    await facing({
      'guest-info': async () => {
        for (const piece of ['{"ret', 'urn": {"ver', 'sion": "7.2.22"', '}}']) {
          peer.say(piece)
          await new Promise(setImmediate)
        }
        return '\n'
      },
    })
    expect(await agent.version()).toBe('7.2.22')
  })

  it('passes over lines that are no answer, as a guest that reboots while it speaks leaves them', async () => {
    await facing({
      'guest-info': () =>
        '{"return": {"version": "7.2\n[    0.000000] Linux version 6.1\n{"return": {"version": "8"}}\n',
    })
    expect(await agent.version()).toBe('8')
  })

  it('is asked one thing at a time, in order', async () => {
    let open = 0
    let most = 0
    await facing({
      'guest-ping': async () => {
        most = Math.max(most, ++open)
        await new Promise(setImmediate)
        open--
        return returns({})
      },
    })
    await Promise.all(Array.from({ length: 10 }, () => agent.execute('guest-ping')))
    expect(most).toBe(1)
  })

  it('that is asked by too many at once refuses the rest', async () => {
    await facing({ 'guest-ping': () => undefined })
    const asked = Array.from({ length: 20 }, () =>
      agent.execute('guest-ping').then(String, (error: Error) => error.message),
    )
    await expect.poll(() => peer.asked).toHaveLength(1)
    agent.close()
    expect((await Promise.all(asked)).filter((what) => what === 'too much is asked of it')).toHaveLength(4)
  })

  it('that refuses says why, and is asked on the same connection again', async () => {
    await facing({
      'guest-set-time': () => refuses('Command guest-set-time has been disabled'),
      'guest-ping': () => returns({}),
    })
    await expect(agent.execute('guest-set-time', { time: 1 })).rejects.toMatchObject({
      trouble: 'refused',
      message: 'Command guest-set-time has been disabled',
    })
    await agent.execute('guest-ping')
    expect(peer.connections).toBe(1)
  })

  it('that does not answer in time is silent, and its late answer is taken for nothing', async () => {
    const late: (() => void)[] = []
    await facing(
      {
        'guest-get-time': async () => {
          await new Promise<void>((resolve) => late.push(resolve))
          return returns(1)
        },
        'guest-info': () => returns({ version: '9' }),
      },
      { answerMs: 100 },
    )
    await expect(agent.time()).rejects.toMatchObject({ trouble: 'silent' })
    for (const answer of late) answer()
    expect(await agent.version()).toBe('9')
    expect(peer.connections).toBe(2)
  })

  it('whose channel closes in mid-command is silent, and answers again once it is back', async () => {
    await facing({
      'guest-get-time': () => {
        peer.hangUp()
        return undefined
      },
      'guest-info': () => returns({ version: '9' }),
    })
    await expect(agent.time()).rejects.toMatchObject({ trouble: 'silent' })
    expect(await agent.version()).toBe('9')
  })

  it('that is in no guest at all is silent', async () => {
    await facing({}, { answerMs: 100 })
    peer.silent = true
    await expect(agent.execute('guest-ping')).rejects.toMatchObject({ trouble: 'silent' })
    await expect.poll(() => peer.open).toBe(0)
  })

  it('of a VM without such a channel is silent', async () => {
    await facing({})
    agent = new GuestAgent({ connect: async () => Promise.reject(new Error('ENOENT')) })
    await expect(agent.execute('guest-ping')).rejects.toMatchObject({ trouble: 'silent' })
  })

  it.each([
    ['one endless line', (peer: FakeGuestAgent) => peer.say('x'.repeat(64 * 1024))],
    ['endless lines', (peer: FakeGuestAgent) => peer.say('x\n'.repeat(32 * 1024))],
  ])('that sends %s is cut off', async (_, say) => {
    await facing({
      'guest-ping': () => {
        for (let i = 0; i < 40; i++) say(peer)
        return undefined
      },
    })
    await expect(agent.execute('guest-ping')).rejects.toMatchObject({ trouble: 'broken' })
    await expect.poll(() => peer.open).toBe(0)
  })

  it('that speaks unasked is hung up on, and what it said is no answer to the next question', async () => {
    await facing({ 'guest-info': () => returns({ version: '9' }) })
    await agent.version()
    peer.say('{"return": {"version": "forged"}}\n')
    await expect.poll(() => peer.open).toBe(0)
    expect(await agent.version()).toBe('9')
  })

  it.each(['1e305', '-1e40', '9223372036854775808', '1e999', '"12"', 'null'])(
    'that gives %s for a time is broken: no report could carry it',
    async (time) => {
      await facing({ 'guest-get-time': () => `{"return": ${time}}\n` })
      await expect(agent.time()).rejects.toMatchObject({ trouble: 'broken' })
    },
  )

  it('runs a program without a shell and hands over its end and its output', async () => {
    await facing(programs((path, arg) => ({ code: 3, out: `${path} ${arg.join('|')}`, err: 'no\n' })))
    expect(await agent.exec('chronyc', ['burst 4/8'])).toEqual({ code: 3, stdout: 'chronyc burst 4/8', stderr: 'no\n' })
    expect(peer.args[0]).toEqual({ path: 'chronyc', arg: ['burst 4/8'], 'capture-output': true })
  })

  it('whose program does not end is left alone with it', async () => {
    await facing(
      { 'guest-exec': () => returns({ pid: 7 }), 'guest-exec-status': () => returns({ exited: false }) },
      { execMs: 0 },
    )
    await expect(agent.exec('sleep', ['1000'])).rejects.toMatchObject({ trouble: 'silent' })
  })

  it.each([
    ['guest-get-time', 'now'],
    ['guest-exec', { pid: 'one' }],
  ])('that answers %s with nonsense is said to', async (command, value) => {
    await facing({ [command]: () => returns(value) })
    const asked = command === 'guest-exec' ? agent.exec('true', []) : agent.time()
    await expect(asked).rejects.toMatchObject({ trouble: 'broken' })
  })

  it('is asked no more once its reader stops', async () => {
    await facing({ 'guest-ping': () => undefined })
    const stop = new AbortController()
    const asked = agent.execute('guest-ping', undefined, stop.signal)
    await expect.poll(() => peer.asked).toHaveLength(1)
    stop.abort(new Error('stopped'))
    await expect(asked).rejects.toThrow('stopped')
  })
})
