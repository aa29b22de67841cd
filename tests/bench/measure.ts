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
  /** Aimed at: a ratio, e.g. "<= 1.2", or the value itself with its unit, e.g. "<= 400 ms". */
  target: string
  pass: boolean
}

/** Of the ratio, or of the value itself where only that says enough. */
export type Target = { atMost: number } | { atLeast: number } | { valueAtMost: number }

const rounded = (n: number) => Math.round(n * 1000) / 1000

export function result(
  name: string,
  unit: string,
  [value, reference]: [value: number, reference: { what: string; value: number }],
  target: Target,
): BenchResult {
  const ratio = value / reference.value
  const [text, pass] = judged(target, { value, unit, ratio })
  return {
    name,
    value: rounded(value),
    unit,
    reference: reference.what,
    reference_value: rounded(reference.value),
    ratio: rounded(ratio),
    target: text,
    pass,
  }
}

function judged(
  target: Target,
  { value, unit, ratio }: { value: number; unit: string; ratio: number },
): [string, boolean] {
  if ('atMost' in target) return [`<= ${target.atMost}`, ratio <= target.atMost]
  if ('atLeast' in target) return [`>= ${target.atLeast}`, ratio >= target.atLeast]
  return [`<= ${target.valueAtMost} ${unit}`, value <= target.valueAtMost]
}

/** The value below which this share of all lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
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
