import { expect, test } from '@playwright/test'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { busyScene } from '../support/fake-fleet/scenes.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { AppPage } from './app-page.ts'
import { Keyboard } from './journeys.ts'

test('a sheet gives the focus back to the row whose menu opened it, and to the button that did', async ({ page }) => {
  test.setTimeout(120_000)
  const served = await serveFake(new FakeFleet(busyScene(Date.now())), new FakeConsole(''))
  try {
    const keys = new Keyboard(page)
    const app = new AppPage(page)
    await page.goto(`${served.url}/#/vms`)
    const row = page.locator('main tr[data-row]').first()
    await expect(row).toBeVisible()
    await keys.press('j')
    await expect(row).toBeFocused()
    await keys.press('.')
    await keys.choose(page.getByRole('menuitem', { name: /^Delete/ }))
    await expect(page.getByRole('dialog')).toBeVisible()
    await keys.press('Escape')
    await expect(row).toBeFocused()

    await page.goto(`${served.url}/#/ports`)
    const publish = app.button(/^Publish/).first()
    await keys.tabToAndEnter(publish)
    await expect(page.getByRole('dialog')).toBeVisible()
    await keys.press('Escape')
    await expect(publish).toBeFocused()
    expect(app.complaints).toEqual([])
  } finally {
    await served.close()
  }
})
