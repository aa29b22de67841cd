import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../../src/ipc/faults.ts'
import type { CommandChannel } from '../../../../../../src/main/control/hosts/ssh/channel.ts'
import { openCommand } from '../../../../../../src/main/control/hosts/ssh/open-command.ts'

const CANCELLED = new Fault('app/cancelled', 'cancelled')
const aChannel = () => new Duplex({ read() {}, write: (_, __, done) => done() }) as unknown as CommandChannel

describe('a command on a host', () => {
  it('is given up at once while the host does not answer, and ended when it answers all the same', async () => {
    const late = Promise.withResolvers<CommandChannel>()
    const stop = new AbortController()
    const asked = openCommand({ exec: () => late.promise }, 'sh', stop.signal)
    stop.abort(CANCELLED)
    await expect(asked).rejects.toBe(CANCELLED)
    const channel = aChannel()
    late.resolve(channel)
    await setImmediate()
    expect(channel.destroyed).toBe(true)
  })

  it('is not even asked for by who gave up already', async () => {
    let asked = 0
    const exec = async () => {
      asked++
      return aChannel()
    }
    await expect(openCommand({ exec }, 'sh', AbortSignal.abort(CANCELLED))).rejects.toBe(CANCELLED)
    expect(asked).toBe(0)
  })

  it('is open while nobody gives up, and ends with what the host says', async () => {
    const { signal } = new AbortController()
    const channel = aChannel()
    expect(await openCommand({ exec: async () => channel }, 'sh', signal)).toBe(channel)
    const refused = new Fault('ssh/no-shell', 'permanent', { host: 'lab' })
    const exec = async () => {
      throw refused
    }
    await expect(openCommand({ exec }, 'sh', signal)).rejects.toBe(refused)
  })
})
