import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { aTrail } from './activity-scene.ts'
import { FakeConsole } from './fake-console.ts'
import { FakeFleet } from './fake-fleet.ts'
import { startIdsAnew } from './rows.ts'
import type { Screen } from './screen-list.ts'
import { BOOT_LOG } from './serial-text.ts'
import { serveFake } from './serve-fake.ts'

const SIZE = { width: 1280, height: 800 }
const SETTLE_MS = 700
const RESTYLE_MS = 250
const CALL_TIMEOUT_MS = 20_000

export interface TakeOptions {
  folder: string
  /** When the pictures are taken. */
  now: number
  /** Makes the bytes of a picture fewer. */
  pack: (png: Buffer) => Buffer
}

/** Writes `<name>-light.png` and `<name>-dark.png` of each screen; answers what went wrong. */
export async function takeScreens(screens: readonly Screen[], options: TakeOptions): Promise<string[]> {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-sync'],
  })
  try {
    const wrong: string[] = []
    for (const tour of tours(screens)) wrong.push(...(await take(browser, tour, options)))
    return wrong
  } finally {
    await browser.close()
  }
}

/** The places of one fleet are walked in one window; each of the others has a window and a fleet of its own. */
function tours(screens: readonly Screen[]): Screen[][] {
  const walked = screens.filter(({ isPlace }) => isPlace)
  const rest = screens.filter(({ isPlace }) => !isPlace).map((screen) => [screen])
  return walked.length > 0 ? [walked, ...rest] : rest
}

async function take(browser: Browser, tour: readonly Screen[], { folder, now, pack }: TakeOptions): Promise<string[]> {
  startIdsAnew()
  const [first] = tour as [Screen]
  const fleet = new FakeFleet(first.scene(now))
  fleet.audit = aTrail(fleet.state, now)
  const { serial = BOOT_LOG } = first
  const consoles = new FakeConsole(serial)
  for (const { id, name } of fleet.state.vms) consoles.lines.set(id, { text: serial.replaceAll('web-12', name) })
  const served = await serveFake(fleet, consoles)
  const context = await browser.newContext({
    ...{ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-GB' },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(CALL_TIMEOUT_MS)
  await page.clock.setFixedTime(now)
  const complaints: string[] = []
  page.on('console', (said) => said.type() === 'error' && complaints.push(said.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(`${served.url}/#${first.path}`)
  for (const screen of tour) {
    try {
      await page.evaluate((hash) => {
        location.hash = hash
      }, `#${screen.path}`)
      await page.locator('main').waitFor()
      await screen.act?.(page, fleet, consoles)
    } catch (error) {
      complaints.push(`${screen.name}: ${error}`)
    }
    for (const [scheme, png] of Object.entries(await inBothLooks(page, screen.settleMs ?? SETTLE_MS)))
      await writeFile(join(folder, `${screen.name}-${scheme}.png`), pack(png))
  }
  await context.close()
  await served.close()
  return complaints
}

/** The page follows the system from light to dark. */
async function inBothLooks(page: Page, settleMs: number) {
  const shoot = () => page.screenshot({ animations: 'disabled', caret: 'hide' })
  await page.waitForTimeout(settleMs)
  const light = await shoot()
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.waitForTimeout(RESTYLE_MS)
  const dark = await shoot()
  await page.emulateMedia({ colorScheme: 'light' })
  return { light, dark }
}
