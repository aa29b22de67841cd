import { describe, expect, it } from 'vitest'
import { Reach } from '../../../../src/agent/exposures/reach.ts'
import { findFault } from '../../../../src/ipc/faults.ts'

const VM = 'a'.repeat(32)

describe('the way to a guest', () => {
  it('is its address, where it has one', async () => {
    const reach = new Reach({ run: () => '1', address: () => '10.0.0.2', forward: async () => 1 })
    expect(await reach.target(VM, 'tcp', 22)).toEqual({ host: '10.0.0.2', port: 22 })
  })

  it('is what its hypervisor forwards, where it has none; asked for once in each run of it', async () => {
    let asked = 0
    let run = '1'
    const reach = new Reach({ run: () => run, address: () => '', forward: async () => 4000 + ++asked })
    expect(reach.seen(VM)).toEqual({ run: '1', unreachable: '' })
    const both = await Promise.all([reach.target(VM, 'tcp', 22), reach.target(VM, 'tcp', 22)])
    expect(both).toEqual(Array(2).fill({ host: '127.0.0.1', port: 4001 }))
    expect(await reach.target(VM, 'udp', 22)).toEqual({ host: '127.0.0.1', port: 4002 })
    run = '2'
    expect(await reach.target(VM, 'tcp', 22)).toEqual({ host: '127.0.0.1', port: 4003 })
  })

  it('is asked for again after it could not be made, with the reason', async () => {
    let ports = [Promise.reject(new Error('no network device')), Promise.resolve(4000)]
    const reach = new Reach({ run: () => '1', address: () => '', forward: () => ports.shift()! })
    const fault = findFault(await reach.target(VM, 'tcp', 22).catch((error) => error))
    expect([fault?.code, fault?.params['detail']]).toEqual(['port/no-way', 'no network device'])
    expect((await reach.target(VM, 'tcp', 22)).port).toBe(4000)
    ports = []
    expect((await reach.target(VM, 'tcp', 22)).port).toBe(4000)
  })

  it('is none without an address, and none to a guest that does not run', async () => {
    const nowhere = new Reach({ run: () => '1', address: () => '' })
    expect(nowhere.seen(VM).unreachable).not.toBe('')
    await expect(nowhere.target(VM, 'tcp', 22)).rejects.toMatchObject({ code: 'port/no-way' })
    const off = new Reach({ run: () => '', address: () => '10.0.0.2' })
    await expect(off.target(VM, 'tcp', 22)).rejects.toMatchObject({ code: 'port/no-way' })
  })
})
