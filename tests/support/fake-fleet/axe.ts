import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice']

interface AxeNode {
  target: string[]
  failureSummary: string
}

interface Axe {
  run(options: object): Promise<{ violations: { id: string; impact: string; nodes: AxeNode[] }[] }>
}

/** What axe calls serious or critical on the page as it is, one line each. */
export async function seriousViolations(page: Page): Promise<string[]> {
  // evaluate, not a script tag: the page's policy allows no inline script
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  const found = await page.evaluate(async (runOnly) => {
    const result = await (window as unknown as { axe: Axe }).axe.run({ runOnly, resultTypes: ['violations'] })
    return result.violations.map(({ id, impact, nodes }) => ({
      id,
      impact,
      nodes: nodes.slice(0, 3).map((n) => `${n.target.join(' ')} ${n.failureSummary.split('\n')[1] ?? ''}`),
    }))
  }, RULES)
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => `axe ${impact} ${id}: ${nodes.join(' | ')}`)
}
