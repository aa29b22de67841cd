import { expect, test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'
import { mainJourney } from './main-journey.ts'

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.describe.configure({ mode: 'serial' })
test.setTimeout(300_000)

let host: SshHost
let desktop: Desktop

test.beforeAll(async () => {
  host = await startSshHost({ name: 'rack1' })
  desktop = await new Desktop({ listen: '127.0.0.1:0' }).start()
})
test.afterAll(async () => {
  await desktop?.close()
  await host?.close()
})

test('a person adds a host, builds an image, runs a VM, types on its console, deletes and undoes, all by clicks', async ({
  page,
}) => {
  const app = new AppPage(page)
  await page.goto(desktop.url)
  await mainJourney(app, host)
})

test('a mistake in user-data is named by its line, mended by its quick fix, and the guest does what it then says', async ({
  browser,
}) => {
  const app = new AppPage(await browser.newPage())
  const { page } = app
  await desktop.stop()
  await desktop.start()
  await page.goto(desktop.url)
  await app.go('VMs')
  await app.link('Create VM').click()
  await page.getByLabel('Name', { exact: true }).fill('web2')
  await page.getByRole('textbox', { name: 'cloud-init user-data' }).click()
  await page.keyboard.insertText('#cloud-config\nruncmd:\n  - echo status: ok >/run/mended\n')
  const create = app.button('Create', true)
  await expect(page.getByText(/^User-data: line 3: /)).toBeVisible()
  await expect(create).toBeDisabled()
  await app.button(/^Apply the fix in line 3/).click()
  await create.click()
  await app.seeInTerminal(/web2:~# /, 90_000)
  await app.typeInTerminal('until [ -e /run/mended ]; do sleep 1; done; cat /run/mended')
  await app.seeInTerminal(/^status: ok$/m)
  expect(app.complaints).toEqual([])
  await page.close()
})
