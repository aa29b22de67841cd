import { test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'
import { mainJourney } from './main-journey.ts'

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
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
