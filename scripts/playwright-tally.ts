import { writeFileSync } from 'node:fs'
import type { FullConfig, Reporter, Suite } from '@playwright/test/reporter'
import type { Tally } from './tally.ts'

/** Counts what Playwright ran, skips with their reasons, into the file of EITRI_TALLY. A test that passed only when repeated failed. */
export default class TallyReporter implements Reporter {
  #suite: Suite | undefined
  #errors = 0

  onBegin(_config: FullConfig, suite: Suite): void {
    this.#suite = suite
  }

  onError(): void {
    this.#errors++
  }

  onEnd(): void {
    const tally: Tally = { passed: 0, failed: this.#errors, skipped: 0, skips: [], failures: [] }
    for (const test of this.#suite?.allTests() ?? []) {
      const outcome = test.outcome()
      if (outcome === 'expected') tally.passed++
      else if (outcome !== 'skipped') {
        tally.failed++
        tally.failures.push(test.titlePath().filter(Boolean).join(' > '))
      } else {
        const reason = test.annotations.find(({ type }) => type === 'skip')?.description ?? ''
        tally.skipped++
        tally.skips.push({ title: test.titlePath().filter(Boolean).join(' > '), reason })
      }
    }
    const file = process.env['EITRI_TALLY']
    if (file) writeFileSync(file, JSON.stringify(tally))
  }
}
