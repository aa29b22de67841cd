import { writeFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'
import type { Skip, Tally } from './tally.ts'

/** Counts what vitest ran, skips with their reasons, into the file of EITRI_TALLY; a file that could not be loaded is a failure. */
export default class TallyReporter implements Reporter {
  readonly #tally: Tally = { passed: 0, failed: 0, skipped: 0, skips: [] }

  onTestCaseResult(test: TestCase): void {
    const result = test.result()
    if (result.state === 'passed') this.#tally.passed++
    else if (result.state === 'failed') this.#tally.failed++
    else if (result.state === 'skipped') this.#skip(test, result.note)
  }

  #skip(test: TestCase, note: string | undefined): void {
    const skip: Skip = { title: test.fullName, reason: note ?? '' }
    this.#tally.skipped++
    this.#tally.skips.push(skip)
  }

  onTestSuiteResult(suite: TestSuite): void {
    this.#tally.failed += suite.errors().length
  }

  onTestModuleEnd(module: TestModule): void {
    this.#tally.failed += module.errors().length
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly unknown[]): void {
    this.#tally.failed += errors.length
    const file = process.env['EITRI_TALLY']
    if (file) writeFileSync(file, JSON.stringify(this.#tally))
  }
}
