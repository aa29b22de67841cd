import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { FakeConsole } from './fake-console.ts'
import { FakeFleet } from './fake-fleet.ts'
import { serveFake } from './serve-fake.ts'
import { SHOTS, type Shot } from './shot-list.ts'

/** Pictures of every screen from a fake fleet, each looked over by axe: `node tests/support/fake-fleet/shots.ts OUT [NAME…]`. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const [out = 'out/shots', ...only] = process.argv.slice(2)
mkdirSync(out, { recursive: true })
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync'],
})
let bad = 0
for (const shot of SHOTS)
  if (only.length === 0 || only.some((n) => shot.name.startsWith(n))) bad += await take(browser, shot)
await browser.close()
process.exitCode = bad === 0 ? 0 : 1

async function take(browser: Browser, shot: Shot): Promise<number> {
  const fleet = new FakeFleet(shot.scene(Date.now()))
  const consoles = new FakeConsole(shot.serial ?? '')
  const served = await serveFake(fleet, consoles)
  const context = await browser.newContext({
    viewport: shot.size ?? { width: 1280, height: 800 },
    colorScheme: shot.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(8000)
  const complaints: string[] = []
  page.on('console', (m) => m.type() === 'error' && !shot.tolerates?.test(m.text()) && complaints.push(m.text()))
  page.on('pageerror', (e) => complaints.push(String(e)))
  try {
    await page.goto(`${served.url}/#${shot.path}`)
    await shot.act?.(page, fleet, consoles)
    await page.waitForTimeout(shot.settleMs ?? 350)
    await page.screenshot({ path: `${out}/${shot.name}.png` })
    complaints.push(...(await violations(page)))
  } catch (error) {
    await page.screenshot({ path: `${out}/${shot.name}.png` })
    complaints.push(String(error))
  }
  process.stdout.write(
    `${complaints.length === 0 ? 'ok ' : 'BAD'} ${shot.name}\n${complaints.map((c) => `    ${c}\n`).join('')}`,
  )
  await context.close()
  await served.close()
  return complaints.length
}

interface AxeNode {
  target: string[]
  failureSummary: string
}

async function violations(page: Page): Promise<string[]> {
  // evaluate, not a script tag: the page's policy allows no inline script
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    const axe = (
      window as unknown as {
        axe: { run(o: object): Promise<{ violations: { id: string; impact: string; nodes: AxeNode[] }[] }> }
      }
    ).axe
    const result = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    return result.violations.map((v) => ({
      id: v.id,
      impact: v.impact,
      nodes: v.nodes.slice(0, 3).map((n) => `${n.target.join(' ')} ${n.failureSummary.split('\n')[1] ?? ''}`),
    }))
  })
  return found
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `axe ${v.impact} ${v.id}: ${v.nodes.join(' | ')}`)
}
