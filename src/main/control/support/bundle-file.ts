import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Labels } from './labels.ts'
import { Redactor } from './redactor.ts'

/** One text file of a bundle, and what was taken out of it. */
export interface BundleText {
  name: string
  about: string
  text: string
  redacted: Record<string, number>
}

/** A file of a bundle is no longer than this. */
export const MAX_FILE_CHARS = 1_000_000
/** Lines made before everything else has its turn: a large fleet has many. */
const LINES_PER_TURN = 200

/** Lines of a file, made with a redactor of its own; past the bound the rest is counted in the last line. */
export async function fileOf(
  labels: Labels,
  name: string,
  about: string,
  write: (redactor: Redactor) => Iterable<string>,
): Promise<BundleText> {
  const redactor = new Redactor(labels)
  const kept: string[] = []
  let chars = 0
  let cut = 0
  let lines = 0
  for (const line of write(redactor)) {
    if (++lines % LINES_PER_TURN === 0) await nextTurn()
    chars += line.length + 1
    if (chars > MAX_FILE_CHARS) cut++
    else kept.push(line)
  }
  if (kept.length === 0) kept.push('none')
  if (cut > 0) kept.push(`(${cut} more lines are left out)`)
  return { name, about, text: `${kept.join('\n')}\n`, redacted: redactor.taken }
}

/** The lines of each, made one after the other as they are asked for. */
export function* eachOf<T>(rows: readonly T[], linesOf: (row: T) => readonly string[]): Generator<string> {
  for (const row of rows) yield* linesOf(row)
}

/** `  key: value` for each that says something. */
export function facts(rows: Record<string, string | number | bigint | boolean | undefined>): string[] {
  return Object.entries(rows)
    .filter(([, value]) => value !== undefined && value !== '' && value !== 'none')
    .map(([key, value]) => `  ${key}: ${value}`)
}
