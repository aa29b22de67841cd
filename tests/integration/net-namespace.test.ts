import { afterEach, describe, expect, it } from 'vitest'
import { AgentProcess } from '../support/agent-process.ts'
import { NetNamespace, netNamespaceImpossible } from '../support/net-namespace.ts'

describe.skipIf(netNamespaceImpossible())('network namespaces of tests', () => {
  const spaces: NetNamespace[] = []
  const make = async () => {
    const space = await NetNamespace.make()
    spaces.push(space)
    return space
  }
  afterEach(async () => {
    for (const space of spaces.splice(0)) await space[Symbol.asyncDispose]()
  })

  it('reach each other by cables and bridges, and keep their settings to themselves', async () => {
    const [host, lan] = [await make(), await make()]
    await lan.bridge('br0', '10.9.0.1/24')
    await host.cable({ name: 'eth0', mac: '52:54:00:00:00:01', addresses: ['10.9.0.2/24'] }, lan, {
      name: 'port0',
      bridge: 'br0',
    })
    await host.must(['busybox', 'ping', '-c', '1', '-W', '5', '10.9.0.1'])
    expect(await lan.ip('neigh', 'show', '10.9.0.2')).toContain('52:54:00:00:00:01')
    expect(await host.sysctl('net.ipv4.ip_forward', 1)).toBe('1')
    expect(await lan.sysctl('net.ipv4.ip_forward')).toBe('0')
  })

  it('have an agent of their own, whose socket is reached from outside', async () => {
    const space = await make()
    await using agent = new AgentProcess({ namespace: space })
    await agent.start()
    expect(await space.pids()).toContain(agent.pid)
    await agent.end('SIGTERM')
  })
})
