import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { aTrail } from './activity-scene.ts'
import { FakeConsole } from './fake-console.ts'
import { FakeFleet } from './fake-fleet.ts'
import { startIdsAnew } from './rows.ts'
import type { Screen } from './screen-list.ts'
import { BOOT_LOG } from './serial-text.ts'
import { serveFake } from './serve-fake.ts'

const SIZE = { width: 1280, height: 800 }
const SETTLE_MS = 700
const CALL_TIMEOUT_MS = 8000

/** Writes `<name>-light.png` and `<name>-dark.png` of each screen; `pack` makes the bytes smaller. Answers what went wrong. */
export async function takeScreens(
  screens: readonly Screen[],
  folder: string,
  now: number,
  pack: (png: Buffer) => Buffer,
): Promise<string[]> {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync'],
  })
  const wrong: string[] = []
  try {
    for (const screen of screens)
      for (const scheme of ['light', 'dark'] as const) {
        const { png, complaints } = await picture(browser, screen, scheme, now)
        await writeFile(join(folder, `${screen.name}-${scheme}.png`), pack(png))
        wrong.push(...complaints.map((text) => `${screen.name}-${scheme}: ${text}`))
      }
  } finally {
    await browser.close()
  }
  return wrong
}

async function picture(browser: Browser, screen: Screen, colorScheme: 'light' | 'dark', now: number) {
  startIdsAnew()
  const fleet = new FakeFleet(screen.scene(now))
  fleet.audit = aTrail(fleet.state, now)
  const consoles = new FakeConsole(BOOT_LOG)
  const served = await serveFake(fleet, consoles)
  const context = await browser.newContext({
    ...{ viewport: SIZE, colorScheme, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-GB' },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(CALL_TIMEOUT_MS)
  await page.clock.setFixedTime(now)
  const complaints: string[] = []
  page.on('console', (said) => said.type() === 'error' && complaints.push(said.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  try {
    await page.goto(`${served.url}/#${screen.path}`)
    await page.locator('main').waitFor()
    await screen.act?.(page, fleet, consoles)
  } catch (error) {
    complaints.push(String(error))
  }
  await page.waitForTimeout(screen.settleMs ?? SETTLE_MS)
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  await context.close()
  await served.close()
  return { png, complaints }
}
