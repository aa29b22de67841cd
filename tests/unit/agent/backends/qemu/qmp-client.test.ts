import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { QmpClient, type QmpDeadlines, type QmpEvent } from '../../../../../src/agent/backends/qemu/qmp-client.ts'
import { connectUnix } from '../../../../../src/agent/os/unix-socket.ts'
import { MiB } from '../../../../../src/ipc/units.ts'
import {
  done,
  FakeQmp,
  greets,
  hangsUp,
  polite,
  type QmpStep,
  says,
  silent,
  takes,
  tells,
} from '../../../../support/fake-qmp.ts'

const prompt: QmpDeadlines = { greetingMs: 50, commandMs: 50 }
const patient: QmpDeadlines = { greetingMs: 10_000, commandMs: 10_000 }
const opens: QmpStep[] = [greets, takes('qmp_capabilities', done())]

describe('one QEMU monitor', () => {
  let dir: string
  let peer: FakeQmp
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-qmp-'))
  })
  afterEach(async () => {
    await peer.close()
    await rm(dir, { recursive: true })
    expect(peer.problems).toEqual([])
  })

  const facing = async (...steps: QmpStep[]) => {
    peer = await FakeQmp.listen(join(dir, 'q'), steps)
  }
  const open = async (deadlines = patient, event: (event: QmpEvent) => void = () => {}) =>
    await QmpClient.open(await connectUnix(dir, 'q', 1_000), { event }, deadlines)

  it('gives answers to the commands they belong to, and events that came between to whoever listens', async () => {
    const crossed: QmpStep = async (line) => {
      const both = [await line.next(), await line.next()]
      for (const one of both.toReversed()) {
        line.send({ event: 'STOP', data: {} })
        line.send({ return: one?.execute, id: one?.id })
      }
    }
    await facing(...opens, crossed)
    const events: string[] = []
    const client = await open(patient, ({ event }) => events.push(event))
    expect(await Promise.all([client.execute('a'), client.execute('b')])).toEqual(['a', 'b'])
    expect(events).toEqual(['STOP', 'STOP'])
    client.close()
  })

  it('an error answer is its words', async () => {
    await facing(...opens, takes('x', { error: { class: 'GenericError', desc: 'no such thing' } }), polite)
    const client = await open()
    await expect(client.execute('x')).rejects.toMatchObject({
      code: 'vmm/failed',
      params: { detail: 'no such thing' },
    })
    client.close()
  })

  it('one that does not greet is unresponsive, and is let go', async () => {
    await facing(silent)
    await expect(open(prompt)).rejects.toThrow('does not answer on its monitor')
  })

  it('one that closes fails what waits, and what comes later', async () => {
    await facing(...opens, takes('quit'), hangsUp)
    const client = await open()
    await expect(client.execute('quit')).rejects.toThrow('its monitor closed')
    expect(await client.closed).toBe('')
    await expect(client.execute('x')).rejects.toThrow('its monitor is closed')
  })

  it('an answer past its deadline goes to nobody, and is owed until it comes', async () => {
    const late: QmpStep = async (line) => {
      const [first, second] = [await line.next(), await line.next()]
      line.send({ return: 'late', id: first?.id })
      line.send({ return: 'in time', id: second?.id })
    }
    await facing(...opens, late, polite)
    const client = await open(prompt)
    await expect(client.execute('slow')).rejects.toThrow('no answer to slow')
    expect(client.owed).toBe(true)
    expect(await client.execute('next')).toBe('in time')
    expect(client.owed).toBe(false)
    client.close()
  })

  it('an answer given twice, or to nothing asked, changes nothing', async () => {
    const twice: QmpStep = async (line) => {
      const got = await line.next()
      for (const value of ['first', 'second']) line.send({ return: value, id: got?.id })
      line.send({ return: {}, id: 9_999 })
      line.send({ return: {}, id: 'a string' })
      line.send({ error: { class: 'GenericError', desc: 'to nobody' } })
    }
    await facing(...opens, twice, polite)
    const client = await open()
    expect(await client.execute('a')).toBe('first')
    expect(await client.execute('b')).toEqual({})
    client.close()
  })

  it.each([
    ['a line that is no JSON', 'nonsense\n', 'a line that is no message'],
    ['JSON that is no message', '[1, 2]\n', 'a line that is no message'],
    ['a second greeting', '{"QMP": {}}\n', 'a second greeting'],
  ])('is closed by %s, and says so', async (_why, text, broken) => {
    await facing(...opens, takes('x'), says(text), silent)
    const client = await open()
    await expect(client.execute('x')).rejects.toThrow('its monitor closed')
    expect(await client.closed).toBe(broken)
  })

  it('is closed by a line of 64 MB long before its end', async () => {
    let sent = 0
    const endless: QmpStep = async (line) => {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      while (line.open && sent < 64 * MiB) {
        sent += chunk.length
        if (!line.socket.write(chunk))
          await new Promise<void>((resolve) => {
            line.socket.once('drain', resolve)
            line.socket.once('close', resolve)
          })
      }
    }
    await facing(...opens, endless)
    const client = await open()
    expect(await client.closed).toBe('a line longer than 1 MiB')
    await peer.close()
    expect(sent).toBeLessThan(8 * MiB)
  })

  it('events that come with the greeting are heard', async () => {
    await facing(greets, tells('RESET', { guest: false }), takes('qmp_capabilities', done()), polite)
    const events: string[] = []
    const client = await open(patient, ({ event }) => events.push(event))
    expect(events).toEqual(['RESET'])
    client.close()
  })

  it('has at most 32 commands on the way', async () => {
    await facing(...opens, silent)
    const client = await open()
    const held = Array.from({ length: 32 }, () => client.execute('x').catch(() => 'closed'))
    await expect(client.execute('x')).rejects.toThrow('too busy')
    client.close()
    expect(new Set(await Promise.all(held))).toEqual(new Set(['closed']))
  })
})
