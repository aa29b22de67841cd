import { setTimeout as delay } from 'node:timers/promises'
import { AgentFarm } from '../support/agent-farm.ts'

const SIZE = { hosts: 200, vms: 50, tickMs: 10_000 }
const WARM_UP_MS = 5 * 60_000
const MEASURED_MS = 10 * 60_000
const SAMPLE_MS = 5_000
const SLOPE_MB_PER_HOUR = 1

/** 200 hosts with 10,000 VMs that report and change nothing: memory must not climb, the store must not be touched. */
export async function soakFleet(say: (line: string) => void): Promise<void> {
  await using farm = await AgentFarm.open(SIZE)
  say(`all known after ${((await farm.connect(180_000)) / 1000).toFixed(1)} s`)
  await delay(WARM_UP_MS)
  const [stored, cpu, start] = [farm.stored(), farm.cpuMs(), performance.now()]
  const samples: { hours: number; mb: number }[] = []
  while (performance.now() - start < MEASURED_MS) {
    await delay(SAMPLE_MS)
    samples.push({ hours: (performance.now() - start) / 3_600_000, mb: farm.rssMb() })
  }
  const slope = slopeOf(floors(samples))
  say(`${((100 * (farm.cpuMs() - cpu)) / (performance.now() - start)).toFixed(1)} % of a core`)
  say(`${samples[0]?.mb.toFixed(0)} to ${samples.at(-1)?.mb.toFixed(0)} MB, ${slope.toFixed(1)} MB/h`)
  if (farm.stored() !== stored) throw new Error('the database was written to although nothing changed')
  if (slope >= SLOPE_MB_PER_HOUR) throw new Error(`memory climbs by ${slope.toFixed(1)} MB/h`)
}

interface Sample {
  hours: number
  mb: number
}

/** The lowest of each minute: what is left after a collection, not how long ago it was. */
function floors(samples: readonly Sample[]): Sample[] {
  const minutes = Map.groupBy(samples, ({ hours }) => Math.floor(hours * 60))
  return [...minutes.values()].map((minute) => minute.reduce((a, b) => (b.mb < a.mb ? b : a)))
}

/** Least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const mean = (of: (s: Sample) => number) => samples.reduce((sum, s) => sum + of(s), 0) / samples.length
  const [hours, mb] = [mean((s) => s.hours), mean((s) => s.mb)]
  const over = samples.reduce((sum, s) => sum + (s.hours - hours) * (s.mb - mb), 0)
  return over / samples.reduce((sum, s) => sum + (s.hours - hours) ** 2, 0)
}
