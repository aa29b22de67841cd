import { expect, type Page, test } from '@playwright/test'
import { everyPlace } from '../support/fake-fleet/every-place.ts'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { busyScene } from '../support/fake-fleet/scenes.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'

test.setTimeout(180_000)

/** State words that only a host or the control plane can have said. */
const STATES =
  /\b(Connected|Degraded|Unreachable|Running|Paused|Suspended|Stopped|Crashed|In quarantine|In step|Drifting|Jumped|Not synchronised|Valid|Expired|Revoked)\b/
/** Longer than this without words is a bare spinner. */
const PATIENCE_MS = 1_000

/** What is turning or pulsing on the page with no words beside it. */
const bareSpinners = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('[class*=animate-]')]
      .filter((node) => node.getClientRects().length > 0)
      .filter(
        (node) =>
          (
            node.closest('[role=status], [role=progressbar], li, tr, p, a, button, section')?.textContent ?? ''
          ).trim() === '',
      )
      .map((node) => node.outerHTML.slice(0, 120)),
  )

async function shownAfterPatience(page: Page, href: string): Promise<string> {
  await page.evaluate((hash) => {
    location.hash = hash
  }, href)
  // The time a person waits is what this is about.
  await page.waitForTimeout(PATIENCE_MS)
  // biome-ignore lint/performance/useDomNodeTextContent: what is seen, not what is there
  return await page.locator('main').innerText()
}

test('while the control plane says nothing, each screen says that it reads the fleet, and no state', async ({
  page,
}) => {
  const fleet = new FakeFleet(busyScene(Date.now()))
  const server = await serveFake(fleet, new FakeConsole(''))
  server.hold(/./)
  try {
    await page.goto(server.url)
    for (const href of [
      '#/',
      '#/hosts',
      '#/vms',
      '#/consoles',
      '#/images',
      '#/trust',
      '#/clock',
      '#/activity',
      '#/settings',
    ]) {
      const text = await shownAfterPatience(page, href)
      expect([href, text]).toEqual([href, expect.stringMatching(/Reading the state of your fleet/)])
      expect([href, STATES.exec(text)?.[0]]).toEqual([href, undefined])
      expect(await bareSpinners(page)).toEqual([])
    }
  } finally {
    await page.goto('about:blank')
    await server.close()
  }
})

test('while what a screen asks for is not answered, it says what it waits for and shows what is known', async ({
  page,
}) => {
  const fleet = new FakeFleet(busyScene(Date.now()))
  const server = await serveFake(fleet, new FakeConsole(''))
  server.hold(/^(?!.*WatchFleet)/)
  const silent: string[] = []
  const spinning: string[] = []
  try {
    await page.goto(server.url)
    await expect(page.locator('main')).not.toBeEmpty()
    for (const href of everyPlace(fleet.state)) {
      const text = await shownAfterPatience(page, href)
      if (text.trim() === '') silent.push(href)
      for (const spinner of await bareSpinners(page)) spinning.push(`${href} ${spinner}`)
    }
  } finally {
    await page.goto('about:blank')
    await server.close()
  }
  expect(silent).toEqual([])
  expect(spinning).toEqual([])
})
