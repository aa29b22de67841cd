import { expect, type Page, test } from '@playwright/test'
import { bigChanges, bigScene } from '../support/fake-fleet/big-scene.ts'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'

test.setTimeout(60_000)

const CHANGES_PER_S = 20
const CHANGES = 60
const ROW = 'vm-20'

let fleet: FakeFleet
let server: Awaited<ReturnType<typeof serveFake>>

test.beforeEach(async () => {
  fleet = new FakeFleet(bigScene({ hosts: 10, vms: 20 }, Date.now()))
  server = await serveFake(fleet, new FakeConsole(''))
})
test.afterEach(() => server.close())

/** Tells so many changes at their pace, each of which the page could move something for; one of four is of the row itself. */
async function change(): Promise<void> {
  const changes = bigChanges(fleet)
  for (let n = 0; n < CHANGES; n++) {
    if (n % 4 === 0) changeRow(n)
    else changes.next()
    await new Promise((resolve) => setTimeout(resolve, 1000 / CHANGES_PER_S))
  }
}

function changeRow(n: number): void {
  const vm = fleet.state.vms.find(({ id }) => id === ROW)!
  const power = n % 8 === 0 ? 'stopped' : 'running'
  fleet.tell({ vms: [Object.assign(vm, { power, desiredPower: power })] })
}

/** Everything that must stay where it is. */
const looks = (page: Page) =>
  page.evaluate((id) => {
    const row = document.querySelector(`[data-row="${id}"]`)
    const scroller = row?.closest('div')
    const menu = document.querySelector('[role=menu]')?.getBoundingClientRect()
    return {
      row: row?.getBoundingClientRect().top,
      scrolled: scroller?.scrollTop,
      focus: document.activeElement?.textContent,
      chosen: [...document.querySelectorAll('[data-row][aria-selected=true]')].map((one) =>
        one.getAttribute('data-row'),
      ),
      menu: menu && [menu.left, menu.top],
    }
  }, ROW)

async function open(page: Page): Promise<void> {
  await page.goto(`${server.url}/#/vms`)
  await page.locator('[data-row]').nth(10).waitFor()
  // By what changes, so that rows have a reason to move.
  await page.getByRole('columnheader', { name: 'State', exact: true }).getByRole('button').first().click()
  const row = page.locator(`[data-row="${ROW}"]`)
  const scroller = page.locator('div:has(> [role=grid])')
  for (let top = 0; (await row.count()) === 0; top += 400)
    await scroller.evaluate((element, to) => {
      element.scrollTop = to
    }, top)
  await row.scrollIntoViewIfNeeded()
  await row.getByRole('checkbox').click()
  await row.focus()
}

test('rows, the place scrolled to, what is chosen and the focus stay where they are at 20 changes a second', async ({
  page,
}) => {
  await open(page)
  const before = await looks(page)
  expect(before.chosen).toEqual([ROW])
  await change()
  expect(await looks(page)).toEqual({ ...before, focus: expect.any(String) })
  await expect(page.locator(`[data-row="${ROW}"]`)).toBeFocused()
})

test('the open menu of a row stays open, and where it is, at 20 changes a second', async ({ page }) => {
  await open(page)
  const button = page.locator(`[data-row="${ROW}"] [data-row-menu]`)
  await page.keyboard.press('.')
  await expect(page.getByRole('menu')).toBeVisible()
  await page.keyboard.press('ArrowDown')
  // It grows into its place.
  await page.waitForFunction(() => document.getAnimations().every(({ playState }) => playState === 'finished'))
  const before = await looks(page)
  expect(before.focus).not.toBe('')
  await change()
  expect(await looks(page)).toEqual(before)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('menu')).toHaveCount(0)
  await expect(button).toBeFocused()
})

test('the menu of a row opens and closes by the pointer', async ({ page }) => {
  await open(page)
  const button = page.locator(`[data-row="${ROW}"] [data-row-menu]`)
  await button.click()
  await expect(button).toHaveAttribute('aria-expanded', 'true')
  await expect(page.getByRole('menu')).toBeVisible()
  await button.click()
  await expect(page.getByRole('menu')).toHaveCount(0)
  await expect(page).toHaveURL(/#\/vms/)
})
