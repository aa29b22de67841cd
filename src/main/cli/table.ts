import { printable } from '../../ipc/fault-text.ts'

/** Left-aligned columns; every cell as plain text. */
export function table(head: string[], rows: string[][]): string {
  const lines = [head, ...rows.map((row) => row.map(printable))]
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)))
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

/** One `name: value` line each; empty values are left out. */
export function sheet(pairs: [string, string | number | undefined][]): string {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== '')
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width + 1)} ${printable(String(value))}\n`).join('')
}
