import { setTimeout as delay } from 'node:timers/promises'
import { AgentFarm } from '../support/agent-farm.ts'
import { mustRun } from '../support/run-program.ts'
import { type BenchResult, median, result } from './measure.ts'

const SIZE = { hosts: 200, vms: 50, tickMs: 10_000 }
const CONNECT_DEADLINE_MS = 180_000
const WARM_UP_MS = 30_000
const MEASURED_MS = 60_000
const LOGINS = 5

/** fleet_200x50: 10,000 VMs on 200 agents, each behind an SSH connection of its own through a real sshd. */
export async function benchFleet(say: (line: string) => void): Promise<BenchResult[]> {
  await using farm = await AgentFarm.open(SIZE)
  const login = await sshLogin(farm)
  const connect = await farm.connect(CONNECT_DEADLINE_MS)
  say(`fleet: ${SIZE.hosts} hosts and ${SIZE.hosts * SIZE.vms} VMs known after ${(connect / 1000).toFixed(1)} s`)
  await delay(WARM_UP_MS)
  const [stored, cpu, rss, start] = [farm.stored(), farm.cpuMs(), farm.rssMb(), performance.now()]
  await delay(MEASURED_MS)
  const busy = (100 * (farm.cpuMs() - cpu)) / (performance.now() - start)
  const writes = farm.stored() === stored ? 0 : 1
  say(`fleet: ${busy.toFixed(1)} % of a core, ${Math.round(rss)} then ${Math.round(farm.rssMb())} MB resident`)
  say(`fleet: the database was ${writes === 0 ? 'not touched' : 'WRITTEN TO'} in ${MEASURED_MS / 1000} s`)
  const ideal = { what: 'an ssh login, 200 times one after the other', value: (login * SIZE.hosts) / 1000 }
  return [
    result('fleet_200x50', 's', [connect / 1000, ideal], { valueAtMost: 30 }),
    result('fleet_200x50_cpu', '% of a core', [busy, { what: 'a core', value: 100 }], { valueAtMost: 10 }),
    result('fleet_200x50_writes', 'changes', [writes, { what: 'one', value: 1 }], { valueAtMost: 0 }),
  ]
}

/** ms one `ssh host true` takes here. */
async function sshLogin({ sshd, desktop }: AgentFarm): Promise<number> {
  const times: number[] = []
  const known = `UserKnownHostsFile=${desktop.home}/.ssh/known_hosts`
  for (let n = 0; n < LOGINS; n++) {
    const start = performance.now()
    await mustRun('ssh', [
      ...['-F', 'none', '-o', known, '-o', 'BatchMode=yes', '-i', sshd.keyFile],
      ...['-p', `${sshd.port}`, `${sshd.user}@127.0.0.1`, 'true'],
    ])
    times.push(performance.now() - start)
  }
  return median(times)
}
