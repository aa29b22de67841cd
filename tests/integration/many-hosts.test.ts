import { expect, it } from 'vitest'
import { AgentFarm } from '../support/agent-farm.ts'
import { privateSshdImpossible } from '../support/private-sshd.ts'

const impossible = privateSshdImpossible()

it.skipIf(impossible)(
  `twenty hosts behind one sshd connect, and fifty unchanged reports of each write nothing${impossible ? ` (${impossible})` : ''}`,
  async () => {
    await using farm = await AgentFarm.open({ hosts: 20, vms: 10, tickMs: 100 })
    await farm.connect(60_000)
    const reported = async () =>
      Math.min(...(await farm.client.hosts.listHosts({})).hosts.map((h) => Number(h.metrics?.uptimeS ?? 0)))
    const first = await reported()
    // What a first report stores is stored with it.
    await expect.poll(reported, { timeout: 20_000 }).toBeGreaterThan(first + 20)
    const stored = farm.stored()
    const from = await reported()
    await expect.poll(reported, { timeout: 60_000, interval: 250 }).toBeGreaterThan(from + 500)
    expect(farm.stored()).toBe(stored)
  },
  120_000,
)
