/** A test that did not run, and why. */
export interface Skip {
  title: string
  reason: string
}

export interface Tally {
  passed: number
  failed: number
  skipped: number
  skips: Skip[]
  /** Titles of what failed, so that the end of a long log names them. */
  failures: string[]
}

/** The sum of several runs. */
export function sum(tallies: readonly Tally[]): Tally {
  return tallies.reduce((a, b) => ({
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    skips: [...a.skips, ...b.skips],
    failures: [...a.failures, ...b.failures],
  }))
}

/** Rows `| title | reason |` of the table under the heading "Allowed skips". */
export function allowedSkips(markdown: string): Skip[] {
  const section = /^## Allowed skips\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(markdown)?.[1] ?? ''
  const rows = [...section.matchAll(/^\| *(.+?) *\| *(.+?) *\|$/gm)].map((row) => ({
    title: row[1] ?? '',
    reason: row[2] ?? '',
  }))
  return rows.filter(({ title }) => !/^(-+|Test)$/.test(title))
}

/** Skips that are not allowed: a row allows the test, or all tests, whose title starts with it, for the same reason. */
export function forbiddenSkips(skips: readonly Skip[], allowed: readonly Skip[]): Skip[] {
  return skips.filter((skip) => !allowed.some((row) => skip.title.startsWith(row.title) && skip.reason === row.reason))
}

export const closingLine = ({ passed, failed, skipped }: Tally) =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`
