import { expect, type Page, test } from '@playwright/test'
import { seriousViolations } from '../support/fake-fleet/axe.ts'
import { everyPlace } from '../support/fake-fleet/every-place.ts'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { busyScene, emptyScene } from '../support/fake-fleet/scenes.ts'
import { BOOT_LOG } from '../support/fake-fleet/serial-text.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { AppPage } from './app-page.ts'

test.setTimeout(240_000)

/** What a browser says of calls that were cut off on purpose. */
const CUT_OFF = /ERR_EMPTY_RESPONSE|ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|Failed to load resource|Failed to fetch/

async function served(scene: 'empty' | 'loaded' | 'lost') {
  const fleet = new FakeFleet((scene === 'empty' ? emptyScene : busyScene)(Date.now()))
  return { fleet, server: await serveFake(fleet, new FakeConsole(BOOT_LOG)) }
}

/** Goes there without loading the page anew; resolves when the screen is drawn. */
async function visit(page: Page, href: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash
  }, href)
  await expect(page.locator('main'), href).not.toBeEmpty()
  await expect(page.getByText('met a fault inside Eitri'), href).toHaveCount(0)
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  await page.waitForFunction(() => document.querySelectorAll('main [aria-busy=true]').length === 0, undefined, {
    timeout: 5_000,
  })
}

for (const colorScheme of ['light', 'dark'] as const)
  for (const scene of ['empty', 'loaded', 'lost'] as const)
    test(`every screen of a fleet that is ${scene} can be used by everybody, ${colorScheme}`, async ({ browser }) => {
      const { fleet, server } = await served(scene)
      const context = await browser.newContext({ colorScheme, reducedMotion: 'reduce' })
      const page = await context.newPage()
      const app = new AppPage(page)
      const bad: string[] = []
      try {
        await page.goto(server.url)
        await expect(page.locator('main')).not.toBeEmpty()
        if (scene === 'lost') {
          server.refuse()
          fleet.goDown()
          await expect(page.getByText(/not answering|does not answer/).first()).toBeVisible()
        }
        for (const href of everyPlace(fleet.state)) {
          await visit(page, href)
          for (const violation of await seriousViolations(page)) bad.push(`${href} ${violation}`)
        }
      } finally {
        await context.close()
        await server.close()
      }
      expect(bad).toEqual([])
      expect(app.complaints.filter((text) => scene !== 'lost' || !CUT_OFF.test(text))).toEqual([])
    })

/** Words and controls that reach out of the window with nothing to scroll them into it, and a page wider than the window. */
const cutOff = (page: Page) =>
  page.evaluate(() => {
    const over = document.documentElement.scrollWidth - innerWidth
    const scrolls = (node: Element) => {
      for (let at = node.parentElement; at !== null; at = at.parentElement)
        if (at.scrollWidth > at.clientWidth && /auto|scroll/.test(getComputedStyle(at).overflowX)) return true
      return false
    }
    const isOut = (node: Element) => {
      const { left, right, width, height } = node.getBoundingClientRect()
      return width > 1 && height > 1 && (right > innerWidth + 1 || left < -1)
    }
    const out = [...document.querySelectorAll('a, button, input, select, textarea, h1, h2, h3, p, dt, dd')]
      .filter((node) => isOut(node) && !scrolls(node))
      .map((node) => `${node.tagName.toLowerCase()} "${(node.textContent ?? '').slice(0, 40)}"`)
    return [...(over > 0 ? [`${over} px too wide`] : []), ...out]
  })

/** Consoles keep the columns their guests were told. */
const isConsole = (href: string) => /consoles|\/console$/.test(href)

for (const { name, width, height } of [
  { name: '200 % zoom of a small window', width: 640, height: 400 },
  { name: '320 px of width', width: 320, height: 640 },
])
  test(`nothing is cut off at ${name}`, async ({ browser }) => {
    const { fleet, server } = await served('loaded')
    const context = await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce' })
    const page = await context.newPage()
    const bad: string[] = []
    try {
      await page.goto(server.url)
      for (const href of everyPlace(fleet.state).filter((one) => !isConsole(one))) {
        await visit(page, href)
        for (const what of await cutOff(page)) bad.push(`${href} ${what}`)
      }
    } finally {
      await context.close()
      await server.close()
    }
    expect(bad).toEqual([])
  })
