import { describe, expect, it } from 'vitest'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { HopPool, type OpenedHop } from '../../../../../src/main/control/hosts/hop-pool.ts'
import { type SshTarget, targetWithoutConfig } from '../../../../../src/main/control/hosts/ssh/config.ts'
import type { SshConnection } from '../../../../../src/main/control/hosts/ssh/connection.ts'

const context = { home: '/home/ops', sshDir: '/home/ops/.ssh', env: {} }
const bastion: SshTarget = targetWithoutConfig({ host: 'bastion' }, 'ops', context)
const forever = new AbortController().signal
const clock = { monotonic: () => 0 }

function aHop() {
  const closed = Promise.withResolvers<Fault>()
  const state = { closes: 0 }
  const connection = {
    closed: closed.promise,
    rxBytes: () => 0,
    close: () => {
      state.closes++
      closed.resolve(new Fault('ssh/lost', 'transient'))
    },
  } as unknown as SshConnection
  const opened = { connection, key: { host: 'bastion', port: 22, key: {} } } as unknown as OpenedHop
  return { opened, state }
}

describe('connections to hosts on the way', () => {
  it('are opened once for all who want them, and closed with the last', async () => {
    const pool = new HopPool(clock)
    const { opened, state } = aHop()
    let opens = 0
    const open = async () => {
      opens++
      return opened
    }
    const leases = await Promise.all([1, 2, 3].map(() => pool.lease('default', [bastion], open, forever)))
    expect(opens).toBe(1)
    leases[0]!.release()
    leases[0]!.release()
    leases[1]!.release()
    expect(state.closes).toBe(0)
    leases[2]!.release()
    expect(state.closes).toBe(1)
    await pool.lease('default', [bastion], open, forever)
    expect(opens).toBe(2)
  })

  it('are not shared between tenants', async () => {
    const pool = new HopPool(clock)
    let opens = 0
    const open = async () => {
      opens++
      return aHop().opened
    }
    await pool.lease('one', [bastion], open, forever)
    await pool.lease('two', [bastion], open, forever)
    expect(opens).toBe(2)
  })

  it('are tried anew by each who waited when the first one’s try failed for reasons of its own', async () => {
    const pool = new HopPool(clock)
    const nobody = new Fault('ssh/code-needed', 'permanent')
    const first = pool.lease('default', [bastion], () => Promise.reject(nobody), forever)
    const second = pool.lease('default', [bastion], async () => aHop().opened, forever)
    await expect(first).rejects.toBe(nobody)
    await expect(second).resolves.toMatchObject({ keys: [{ host: 'bastion' }] })
  })

  it('are not waited for by those who were called off, and close when all were', async () => {
    const pool = new HopPool(clock)
    const { opened, state } = aHop()
    const asking = Promise.withResolvers<OpenedHop>()
    const [one, two] = [new AbortController(), new AbortController()]
    const leases = [one, two].map(({ signal }) => pool.lease('default', [bastion], () => asking.promise, signal))
    for (const stop of [one, two]) stop.abort(new Fault('app/cancelled', 'cancelled'))
    for (const lease of leases) await expect(lease).rejects.toMatchObject({ code: 'app/cancelled' })
    asking.resolve(opened)
    await expect.poll(() => state.closes).toBe(1)
  })

  it('are none where nobody is on the way', async () => {
    const lease = await new HopPool(clock).lease('default', [], () => Promise.reject(new Error('no hop')), forever)
    expect(lease.keys).toEqual([])
    lease.release()
  })
})
