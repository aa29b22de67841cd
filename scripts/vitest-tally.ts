import { writeFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'
import type { Skip, Tally } from './tally.ts'

/** Counts what vitest ran, skips with their reasons, into the file of EITRI_TALLY; a file that could not be loaded is a failure. */
export default class TallyReporter implements Reporter {
  readonly #tally: Tally = { passed: 0, failed: 0, skipped: 0, skips: [], failures: [] }

  onTestCaseResult(test: TestCase): void {
    const result = test.result()
    if (result.state === 'passed') this.#tally.passed++
    else if (result.state === 'failed') this.#fail(test.fullName, result.errors[0]?.message)
    else if (result.state === 'skipped') this.#skip(test, result.note)
  }

  #skip(test: TestCase, note: string | undefined): void {
    const skip: Skip = { title: test.fullName, reason: note ?? '' }
    this.#tally.skipped++
    this.#tally.skips.push(skip)
  }

  #fail(title: string, message: string | undefined): void {
    this.#tally.failed++
    this.#tally.failures.push(`${title}: ${(message ?? '').split('\n', 1)[0]}`)
  }

  onTestSuiteResult(suite: TestSuite): void {
    for (const error of suite.errors()) this.#fail(suite.fullName, error.message)
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) this.#fail(module.relativeModuleId, error.message)
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly unknown[]): void {
    for (const error of errors)
      this.#fail('outside of any test', error instanceof Error ? error.message : String(error))
    const file = process.env['EITRI_TALLY']
    if (file) writeFileSync(file, JSON.stringify(this.#tally))
  }
}
