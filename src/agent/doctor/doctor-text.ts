import { printable } from '../../ipc/fault-text.ts'
import type { Finding, State } from './judge.ts'

const WORDS: Record<State, string> = { ok: 'ok', warning: 'warning', missing: 'MISSING' }

/** One line for each part; under one that is not well what breaks and the command that mends it. */
export function doctorText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length))
  const indent = ' '.repeat(width + 10)
  return findings
    .flatMap(({ part, state, detail, breaks, mend }) => [
      `${WORDS[state].padEnd(7)}  ${part.padEnd(width)} ${printable(detail)}`,
      ...(breaks === '' ? [] : [`${indent}${breaks}`]),
      ...(mend === '' ? [] : [`${indent}mend: ${printable(mend)}`]),
    ])
    .join('\n')
}

/** `--json`: one object; `mend` is '' where no one command mends it. */
export const doctorJson = (findings: readonly Finding[]): Record<string, unknown> => ({
  ok: findings.every(({ state }) => state === 'ok'),
  missing: findings.filter(({ state }) => state === 'missing').map(({ part }) => part),
  warnings: findings.filter(({ state }) => state === 'warning').map(({ part }) => part),
  checks: findings.map(({ part, state, detail, breaks, mend }) => ({ part, state, detail, breaks, mend })),
})
