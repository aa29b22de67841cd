import { fork } from 'node:child_process'
import { once } from 'node:events'
import { freePort, PortsRig } from '../support/ports-rig.ts'
import { type BenchResult, median, result } from './measure.ts'

const SIZE = 512 * 1024 * 1024
const RUNS = 3
const SOURCE = new URL('../support/byte-source.ts', import.meta.url).pathname
/** A client of its own process, as a real one is. */
const DRAIN = new URL('../support/byte-drain.ts', import.meta.url).pathname

async function mbPerSecond(port: number): Promise<number> {
  const drain = fork(DRAIN, [String(port)])
  const [{ bytes, ms }] = (await once(drain, 'message')) as [{ bytes: number; ms: number }]
  drain.kill('SIGKILL')
  if (bytes !== SIZE) throw new Error(`${bytes} bytes came of ${SIZE}`)
  return bytes / 1e3 / ms
}

/** proxy_throughput: through a published port, against the same connection without one. */
export async function benchProxy(say: (line: string) => void): Promise<BenchResult[]> {
  const source = fork(SOURCE, [String(SIZE), 'plain'])
  try {
    const [{ port }] = (await once(source, 'message')) as [{ port: number }]
    await using rig = new PortsRig()
    const hostPort = await freePort()
    rig.publish({ guestPort: port, hostPort })
    await rig.status(({ state }) => state === 'listening')
    const direct: number[] = []
    const proxied: number[] = []
    for (let run = 0; run < RUNS; run++) {
      direct.push(await mbPerSecond(port))
      proxied.push(await mbPerSecond(hostPort))
    }
    say(`proxy: ${Math.round(median(proxied))} MB/s, direct ${Math.round(median(direct))} MB/s`)
    const reference = { what: 'the same connection without a proxy', value: median(direct) }
    return [result('proxy_throughput', 'MB/s', [median(proxied), reference], { atLeast: 0.3 })]
  } finally {
    source.kill('SIGKILL')
  }
}
