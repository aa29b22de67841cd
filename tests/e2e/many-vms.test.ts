import { expect, type Page, test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { addHost, vmmsOf } from '../support/fleet.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'
import { greeting } from './journeys.ts'

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.setTimeout(360_000)

const NAMES = ['ci-1', 'ci-2', 'ci-3']
let host: SshHost
let desktop: Desktop
let page: Page
let app: AppPage

test.beforeAll(async ({ browser }) => {
  test.setTimeout(240_000)
  host = await startSshHost({ name: 'rack1' })
  desktop = await new Desktop({ listen: '127.0.0.1:0' }).start()
  page = await browser.newPage()
  app = new AppPage(page)
  // Its link is good for a minute.
  await page.goto(desktop.url)
  await expect(page.locator('main')).not.toBeEmpty()
  await addHost(desktop, host)
  await desktop.buildTiny()
  for (const name of NAMES) await desktop.must(['vm', 'create', name, '--wait', 'ready'], { timeoutMs: 120_000 })
})
test.afterAll(async () => {
  await page?.close()
  await desktop?.close()
  await host?.close()
})

test('many VMs are stopped, started, deleted and taken back at once, and a port of one is published', async () => {
  await app.go('VMs')
  for (const name of NAMES) await expect(app.row(name).getByText('Running', { exact: true })).toBeVisible()

  const chosen = async () => {
    const all = page.getByRole('checkbox', { name: 'Select all rows', exact: true })
    if (!(await all.isChecked())) await all.check()
  }
  const confirm = async (open: string, act: RegExp) => {
    await chosen()
    await app.button(open, true).click()
    const sheet = page.getByRole('dialog')
    for (const name of NAMES) await expect(sheet.getByText(name, { exact: true }).first()).toBeVisible()
    await sheet.getByRole('button', { name: act }).click()
  }

  await test.step('stops them', async () => {
    await confirm('Stop…', /^Stop 3/)
    for (const name of NAMES)
      await expect(app.row(name).getByText('Stopped', { exact: true })).toBeVisible({ timeout: 60_000 })
    expect(vmmsOf(host)).toEqual([])
  })

  await test.step('starts them', async () => {
    await confirm('Start…', /^Start 3/)
    for (const name of NAMES)
      await expect(app.row(name).getByText('Running', { exact: true })).toBeVisible({ timeout: 90_000 })
    expect(vmmsOf(host)).toHaveLength(3)
  })

  await test.step('deletes them and takes all back', async () => {
    await confirm('Delete…', /quarantine/)
    for (const name of NAMES) await expect(app.row(name).getByText(/In quarantine/)).toBeVisible({ timeout: 60_000 })
    for (const name of NAMES) await app.row(name).getByRole('button', { name: /^Undo/ }).click()
    for (const name of NAMES)
      await expect(app.row(name).getByText('Running', { exact: true })).toBeVisible({ timeout: 90_000 })
  })
  await test.step('publishes a port of one, which answers from here', async () => {
    await app.row('ci-1').getByRole('link', { name: 'ci-1', exact: true }).click()
    await expect(page.getByRole('heading', { name: 'ci-1' })).toBeVisible()
    await page.keyboard.press('p')
    const sheet = page.getByRole('dialog')
    await sheet.getByLabel('Port in the guest').fill('22')
    await sheet.getByRole('button', { name: /^Publish/ }).click()
    await expect(sheet).toHaveCount(0)
    await app.go('Published ports')
    await expect(app.row('ci-1').getByText('Listening', { exact: true })).toBeVisible({ timeout: 30_000 })
    const { ports } = await desktop.must(['port', 'list'])
    const answer = () => greeting(host.address, ports[0].host_port)
    // Its sshd comes last in a guest's start, of three at once.
    await expect.poll(answer, { timeout: 120_000 }).toMatch(/^SSH-2/)
  })
  expect(app.complaints).toEqual([])
})
