import { expect, type Page, test } from '@playwright/test'
import { everyPlace } from '../support/fake-fleet/every-place.ts'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { busyScene } from '../support/fake-fleet/scenes.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'
import { AppPage } from './app-page.ts'

test.setTimeout(120_000)

let fleet: FakeFleet
let server: Awaited<ReturnType<typeof serveFake>>
test.beforeEach(async () => {
  fleet = new FakeFleet(busyScene(Date.now()))
  server = await serveFake(fleet, new FakeConsole('login: '))
})
test.afterEach(() => server.close())

/** Everything that may stand where the app keeps something: cut off, of another kind, of another version, huge. */
const BROKEN = [
  '{"version":1,"theme":',
  'null',
  '[]',
  '"text"',
  '{"version":99,"tabs":{"a":1},"terminal":null,"notices":{"quiet":7},"columns":[null],"scope":{"kind":[]}}',
  '{"tabs":[{"id":1,"root":{"kind":"split","parts":[null,{}]}}],"current":-5}',
  `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
  '\u0000\u202e💥'.repeat(1_000),
]

const KNOWN = ['consoles', 'create-draft', 'ssh-keys', 'notices', 'scope', 'columns', 'place', 'preferences'].map(
  (name) => `eitri.${name}`,
)

/** The keys a used app keeps, by what it wrote and by what it is known to read. */
async function usedKeys(page: Page): Promise<string[]> {
  await page.goto(`${server.url}/#/consoles`)
  await page.getByRole('navigation').first().waitFor()
  await page.goto(`${server.url}/#/vms/new`)
  await page.getByRole('textbox').first().fill('web')
  return await page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
}

const PLACES = ['#/vms', '#/consoles', '#/vms/new']

for (const [n, value] of BROKEN.entries()) {
  test(`what is kept and broken (${n + 1}) breaks no screen`, async ({ page }) => {
    const app = new AppPage(page)
    const keys = new Set([...KNOWN, ...(await usedKeys(page))])
    await page.evaluate(
      ([all, text]) => {
        for (const key of all) {
          localStorage.setItem(key, text)
          sessionStorage.setItem(key, text)
        }
      },
      [[...keys], value] as const,
    )
    for (const place of PLACES) {
      await page.goto(`${server.url}/${place}`)
      await page.reload()
      await expect(page.getByRole('main')).toBeVisible()
      await expect(page.getByText('could not be drawn')).toHaveCount(0)
    }
    expect(app.complaints).toEqual([])
  })
}

test('a storage that is full or forbidden keeps nothing, and breaks nothing', async ({ page }) => {
  await page.addInitScript(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException('full', 'QuotaExceededError')
    }
  })
  const app = new AppPage(page)
  for (const place of everyPlace(fleet.state)) {
    await page.goto(`${server.url}/${place}`)
    await expect(page.getByRole('main')).toBeVisible()
  }
  await page.goto(`${server.url}/#/vms/new`)
  await page.getByRole('textbox').first().fill('web')
  await page.goto(`${server.url}/#/settings/appearance`)
  await page.getByText('Dark', { exact: true }).first().click()
  await expect(page.locator('html')).toHaveClass(/dark/)
  expect(app.complaints).toEqual([])
})
