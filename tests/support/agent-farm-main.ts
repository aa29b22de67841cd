import { join } from 'node:path'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { FakeSyncAgent } from './fake-sync-agent.ts'

/** Many agents in a process of their own: argv is folder, agents, VMs of each, ms between reports. */
const [dir = '', count = '', vms = '', tickMs = ''] = process.argv.slice(2)

export const farmVmId = (host: number, vm: number) =>
  `${host.toString(16).padStart(16, '0')}${vm.toString(16).padStart(16, '0')}`
export const farmHostId = (host: number) => `f${host.toString(16).padStart(31, '0')}`

function reportOf(agent: FakeSyncAgent, host: number, tick: number): void {
  if (agent.attached === 0) return
  const epoch = agent.snapshots.at(-1)?.epoch ?? 0n
  // What was accepted before is of no use any more.
  agent.snapshots.splice(0, agent.snapshots.length - 1)
  agent.report({
    lastSeenEpoch: epoch,
    builtAt: timestampFromMs(Date.now()),
    guestCidr: `10.${host >> 8}.${host & 255}.0/24`,
    hostUplinkAddr: '192.0.2.1',
    capacity: { vcpus: 64, memMb: 262_144n, diskGb: 4_000n },
    metrics: { load1: (tick % 7) / 2, uptimeS: BigInt(tick * 10), memAvailableBytes: BigInt(2 ** 34 + tick) },
    bootId: 'boot-1',
    vms: Array.from({ length: Number(vms) }, (_, vm) => ({
      vmId: farmVmId(host, vm),
      ip: `10.${host >> 8}.${host & 255}.${vm + 2}`,
      power: 'running',
      phase: 'ready',
      acceleration: 'kvm',
      consoleEnd: BigInt(4_096 + tick),
      hostPublicKey: `ssh-ed25519 ${Buffer.alloc(51, `${host}-${vm}`).toString('base64')}`,
      metrics: { cpuTimeMs: BigInt(tick * 130 + vm), cpuBusyPermille: (tick * 7 + vm) % 100, rssBytes: 2n ** 28n },
    })),
  })
}

async function main(): Promise<void> {
  const agents: { socketPath: string; identityPublicKey: string }[] = []
  for (let host = 0; host < Number(count); host++) {
    const agent = await FakeSyncAgent.start({ socketPath: join(dir, `${host}`, 'agent.sock') })
    agent.hostId = farmHostId(host)
    agents.push({ socketPath: agent.socketPath, identityPublicKey: agent.identityPublicKey })
    let tick = 0
    const again = () => {
      reportOf(agent, host, tick++)
      setTimeout(again, Number(tickMs)).unref()
    }
    // Spread over the tick, as hosts that know nothing of each other are.
    setTimeout(again, (Number(tickMs) * host) / Number(count)).unref()
  }
  process.stdout.write(`${JSON.stringify(agents)}\n`)
  process.stdin.resume()
  process.stdin.on('end', () => process.exit(0))
}

if (import.meta.main) await main()
