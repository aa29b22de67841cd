import type { Edit, Finding, Severity } from '../../../ipc/cloud-init/finding.ts'
import { plural } from '../../lib/format.ts'

const WORDS: Record<Severity, string> = { error: 'error', warning: 'warning', info: 'note' }

/** `1 error, 2 warnings`; empty when there is nothing. */
export function findingsSummary(found: readonly Finding[]): string {
  return (['error', 'warning', 'info'] as const)
    .map((severity) => [severity, found.filter((f) => f.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, WORDS[severity]))
    .join(', ')
}

/** What keeps a VM from being created with this user-data. */
export function refusalText(found: readonly Finding[]): string | undefined {
  const first = found.find((f) => f.severity === 'error')
  return first && `line ${first.line}: ${first.what}`
}

/** Offsets of a line without its break. */
export function lineRange(text: string, line: number): { start: number; end: number } {
  let start = 0
  for (let n = 1; n < line; n++) {
    const next = text.indexOf('\n', start)
    if (next < 0) break
    start = next + 1
  }
  const end = text.indexOf('\n', start)
  return { start, end: end < 0 ? text.length : end }
}

/** In the order to make them: an edit moves only what comes behind it. */
export const inOrder = (edits: readonly Edit[]): Edit[] => edits.toSorted((a, b) => b.start - a.start || b.end - a.end)

/** The finding after, or before, the line the caret is in; around the end it goes on at the other. */
export function nextFinding(found: readonly Finding[], line: number, back: boolean): Finding | undefined {
  if (back) return found.findLast((f) => f.line < line) ?? found.at(-1)
  return found.find((f) => f.line > line) ?? found[0]
}
