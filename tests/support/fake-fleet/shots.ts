import { mkdirSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { seriousViolations } from './axe.ts'
import { FakeConsole } from './fake-console.ts'
import { FakeFleet } from './fake-fleet.ts'
import { serveFake } from './serve-fake.ts'
import { SHOTS, type Shot } from './shot-list.ts'

/** Pictures of every screen from a fake fleet, each looked over by axe: `node tests/support/fake-fleet/shots.ts OUT [NAME…]`. */
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
    complaints.push(...(await seriousViolations(page)))
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
