import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { AgentProcess, Session } from '../support/agent-process.ts'
import { attached, wireClient } from '../support/agent-wire.ts'
import { Desktop } from '../support/eitri.ts'
import { ManyVms } from '../support/many-vms.ts'
import { type BenchResult, median, result } from './measure.ts'

const CALLS = 300
const MEMORY_VMS = 10
const ADOPTED_VMS = 40
const STARTS = 5

/** Proportional share of memory, MB: pages shared with others count in part. */
function pssMb(pid: number): number {
  const kb = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
  return Number(kb) / 1024
}

/** A Node that does nothing, as the floor no agent gets under. */
async function bareNode<T>(measure: (pid: number) => T): Promise<T> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['-e', 'process.stdout.write("up"); setInterval(() => {}, 60000)'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  )
  await once(child.stdout!, 'data')
  const value = measure(child.pid!)
  child.kill('SIGKILL')
  return value
}

/** agent_pss and agent_pss_per_vm. */
export async function benchAgentMemory(say: (line: string) => void): Promise<BenchResult[]> {
  await using agent = new AgentProcess({ built: true })
  await agent.start()
  using fleet = await ManyVms.open(agent)
  const idle = pssMb(agent.pid)
  fleet.create(MEMORY_VMS)
  await fleet.running()
  const busy = pssMb(agent.pid)
  const floor = await bareNode(pssMb)
  say(
    `agent: ${Math.round(idle)} MB idle, ${Math.round(busy)} MB with ${MEMORY_VMS} VMs, a bare Node ${Math.round(floor)} MB`,
  )
  const reference = { what: 'a Node that does nothing', value: floor }
  return [
    result('agent_pss', 'MB', [idle, reference], { valueAtMost: 75 }),
    result('agent_pss_per_vm', 'MB', [(busy - idle) / MEMORY_VMS, reference], { valueAtMost: 1 }),
  ]
}

/** app_pss: the control plane alone; a window adds what Electron takes. */
export async function benchAppMemory(): Promise<BenchResult[]> {
  await using desktop = new Desktop()
  await desktop.start()
  await desktop.must(['host', 'add', 'here', '--local'], { timeoutMs: 60_000 })
  const reference = { what: 'a Node that does nothing', value: await bareNode(pssMb) }
  return [result('app_pss', 'MB', [pssMb(desktop.pid), reference], { valueAtMost: 350 })]
}

/** An HTTP/2 server that answers at once with nothing, in a process of its own. */
const BARE_SERVER = `
  const server = require('node:http2').createServer((request, response) => response.end())
  server.listen(process.argv[1], () => process.stdout.write('up'))
`

/** rpc_round_trip: a unary call on a warm connection beside a request to an HTTP/2 server that does nothing. */
export async function benchRoundTrip(): Promise<BenchResult[]> {
  await using agent = new AgentProcess({ built: true })
  await agent.start()
  using link = wireClient(agent.socketPath)
  const { sessionId } = await attached(link.client)
  const call = await timed(() => link.client.statImage({ sessionId, sha256: '0'.repeat(64) }))
  const path = join(agent.dir, 'bare.sock')
  const server = spawn(process.execPath, ['-e', BARE_SERVER, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(server.stdout, 'data')
  const session = connect('http://bare', { createConnection: () => createConnection(path) })
  const bare = await timed(() => requested(session))
  session.destroy()
  server.kill('SIGKILL')
  const reference = { what: 'a request to an HTTP/2 server that does nothing, on a unix socket', value: bare }
  return [result('rpc_round_trip', 'ms', [call, reference], { atMost: 5 })]
}

function requested(session: ClientHttp2Session): Promise<void> {
  const stream = session.request({ ':path': '/' })
  stream.resume()
  return new Promise((resolve, reject) => stream.once('close', resolve).once('error', reject))
}

async function timed(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < CALLS; n++) {
    const start = performance.now()
    await call()
    times.push(performance.now() - start)
  }
  return median(times.slice(CALLS / 10))
}

/** adopt_40: a killed agent's next start until it reports every VM running, beside a bare Node's start among the same guests. */
export async function benchAdopt(say: (line: string) => void): Promise<BenchResult[]> {
  await using agent = new AgentProcess({ built: true })
  await agent.start()
  {
    using fleet = await ManyVms.open(agent)
    fleet.create(ADOPTED_VMS)
    await fleet.running()
    for (const id of fleet.ids) await fleet.prompt(id)
    say(`${ADOPTED_VMS} VMs show their prompt`)
  }
  const adopted: number[] = []
  const bare: number[] = []
  for (let n = 0; n < STARTS; n++) {
    adopted.push(await adoption(agent))
    const start = performance.now()
    bare.push(await bareNode(() => performance.now() - start))
  }
  const reference = { what: 'a bare Node started among the same guests', value: median(bare) }
  return [result('adopt_40', 'ms', [median(adopted), reference], { valueAtMost: 2000 })]
}

/** ms from the start of an agent after SIGKILL until it reported all VMs as running. */
async function adoption(agent: AgentProcess): Promise<number> {
  await agent.end('SIGKILL')
  const start = performance.now()
  await agent.start()
  using session = await Session.open(agent.socketPath)
  await session.report(({ vms }) => vms.filter(({ power }) => power === 'running').length === ADOPTED_VMS)
  return performance.now() - start
}
