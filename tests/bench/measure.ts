import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { runProgram } from '../support/run-program.ts'

/** One line of the report. */
export interface BenchResult {
  name: string
  value: number
  unit: string
  reference: string
  reference_value: number
  /** value / reference_value */
  ratio: number
  /** The ratio aimed at, e.g. "<= 1.2". */
  target: string
  pass: boolean
}

const rounded = (n: number) => Math.round(n * 1000) / 1000

export function result(
  name: string,
  unit: string,
  [value, reference]: [value: number, reference: { what: string; value: number }],
  target: { atMost: number } | { atLeast: number },
): BenchResult {
  const ratio = value / reference.value
  return {
    name,
    value: rounded(value),
    unit,
    reference: reference.what,
    reference_value: rounded(reference.value),
    ratio: rounded(ratio),
    target: 'atMost' in target ? `<= ${target.atMost}` : `>= ${target.atLeast}`,
    pass: 'atMost' in target ? ratio <= target.atMost : ratio >= target.atLeast,
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** What the numbers were measured on. */
export async function machine(): Promise<Record<string, string | number>> {
  const qemu = await runProgram('qemu-system-x86_64', ['--version'])
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cpus: availableParallelism(),
    memory_mb: Math.round(totalmem() / (1 << 20)),
    kernel: release(),
    node: process.version,
    qemu: /version (\S+)/.exec(qemu.stdout)?.[1] ?? 'none',
  }
}
