import { create } from '@bufbuild/protobuf'
import { expect, type Page, test } from '@playwright/test'
import { FleetStateSchema } from '../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { FakeConsole } from '../support/fake-fleet/fake-console.ts'
import { FakeFleet } from '../support/fake-fleet/fake-fleet.ts'
import { aHost, aVm } from '../support/fake-fleet/rows.ts'
import { serveFake } from '../support/fake-fleet/serve-fake.ts'

test.setTimeout(60_000)

const CHANGING = /^(update|delete|stop|purge|undelete|clone|remove|publish|create)/

let fleet: FakeFleet
let server: Awaited<ReturnType<typeof serveFake>>
const host = aHost({ name: 'rack2' })
const vm = aVm({ name: 'db-3', hostId: host.id, hostName: host.name })

test.beforeEach(async () => {
  fleet = new FakeFleet(create(FleetStateSchema, { hosts: [host], vms: [vm] }))
  server = await serveFake(fleet, new FakeConsole(''))
})
test.afterEach(() => server.close())

const acts = () => fleet.calls.map(({ method }) => method).filter((method) => CHANGING.test(method))

async function openSheet(page: Page, item: string): Promise<void> {
  await page.goto(`${server.url}/#/vms/${vm.id}`)
  await page.getByRole('button', { name: 'Actions for db-3' }).first().click()
  await page.getByRole('menuitem', { name: item }).click()
  await page.getByRole('dialog').waitFor()
}

for (const item of ['Edit…', 'Clone…', 'Delete…', 'Stop by force…', 'Publish a port…', 'Save as template…']) {
  test(`the sheet of ${item} says that its VM is gone, and only closes`, async ({ page }) => {
    await openSheet(page, item)
    const dialog = page.getByRole('dialog')
    const field = dialog.getByRole('textbox').first()
    const types = (await field.count()) > 0
    if (types) await field.fill('typed-by-hand')
    fleet.tell({ removedVmIds: [vm.id] })
    await expect(dialog.getByRole('heading')).toHaveText('db-3 is gone')
    await expect(dialog.getByRole('alert')).toContainText('destroyed on rack2')
    await expect(dialog.locator('footer').getByRole('button', { name: 'Close' })).toBeFocused()
    if (types) {
      await expect(field).toHaveValue('typed-by-hand')
      await expect(field).toBeDisabled()
      await expect(dialog.getByRole('button', { name: 'Copy what is in the fields' })).toBeVisible()
    }
    await page.keyboard.press('Enter')
    await expect(dialog).toHaveCount(0)
    expect(acts()).toEqual([])
  })
}

for (const item of ['Remove…', 'Edit name and labels…', 'Drain…']) {
  test(`the sheet of a host, ${item}, says that its host left`, async ({ page }) => {
    await page.goto(`${server.url}/#/hosts/${host.id}`)
    await page.getByRole('button', { name: 'Actions for rack2' }).first().click()
    await page.getByRole('menuitem', { name: item }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    fleet.tell({ removedVmIds: [vm.id], removedHostIds: [host.id] })
    await expect(dialog.getByRole('heading')).toHaveText('rack2 left the fleet')
    await page.keyboard.press('Enter')
    await expect(dialog).toHaveCount(0)
    expect(acts()).toEqual([])
  })
}

test('a host taken away by its own sheet is no loss: the sheet closes', async ({ page }) => {
  await page.goto(`${server.url}/#/hosts/${host.id}`)
  await page.getByRole('button', { name: 'Actions for rack2' }).first().click()
  await page.getByRole('menuitem', { name: 'Remove…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('checkbox').first().check()
  const said: string[] = []
  await page.exposeFunction('said', (text: string) => said.push(text))
  await page.evaluate(() =>
    new MutationObserver(() => {
      for (const one of document.querySelectorAll('[role=alert]'))
        void (window as never as { said(t: string): void }).said(one.textContent ?? '')
    }).observe(document.body, { childList: true, subtree: true }),
  )
  await dialog.getByRole('button', { name: 'Remove host' }).click()
  await expect(dialog).toHaveCount(0)
  expect(acts()).toEqual(['removeHost'])
  expect(said).toEqual([])
})
