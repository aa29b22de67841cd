import { type Browser, expect, type Page, test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { addHost, agentsOf, vmmsOf } from '../support/fleet.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.describe.configure({ mode: 'serial' })
test.setTimeout(180_000)

let host: SshHost
let desktop: Desktop
let app: AppPage
let page: Page
let console1: string
let n = 0

/** A window of the same person: all windows of a browser share its session. */
async function openWindow(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  return await context.newPage()
}

/** Types a sum on the console of the window and waits for its answer. */
async function works(window: AppPage): Promise<void> {
  const sum = 1_000 + n++
  await window.typeInTerminal(`echo $((${sum}+0))-seen`)
  await window.seeInTerminal(new RegExp(`^${sum}-seen`, 'm'))
}

test.beforeAll(async ({ browser }) => {
  test.setTimeout(240_000)
  host = await startSshHost({ name: 'rack1' })
  desktop = await new Desktop({ listen: '127.0.0.1:0' }).start()
  page = await openWindow(browser)
  app = new AppPage(page)
  // Its link is good for a minute.
  await page.goto(desktop.url)
  await expect(page.locator('main')).not.toBeEmpty()
  await addHost(desktop, host)
  await desktop.buildTiny()
  const vm = await desktop.must(['vm', 'create', 'web1', '--wait', 'ready'], { timeoutMs: 120_000 })
  console1 = `${new URL(desktop.url).origin}/#/vms/${vm.id}/console`
  await page.goto(console1)
  await app.seeInTerminal(/web1:~# /, 90_000)
})
test.afterAll(async () => {
  await page?.context().close()
  await desktop?.close()
  await host?.close()
})

test('a second window reads along, takes the keyboard, and the first is told', async () => {
  const second = await page.context().newPage()
  const other = new AppPage(second)
  await works(app)
  await second.goto(console1)
  await other.seeInTerminal(/web1:~# /)
  await other.button('Take keyboard').click()
  await works(other)
  await expect(app.button('Take keyboard')).toBeVisible()
  await app.button('Take keyboard').click()
  await works(app)
  await second.close()
})

test('typing goes on over the death of the agent, and the guest does not notice', async () => {
  const [vmm] = vmmsOf(host)
  for (const agent of agentsOf(host)) process.kill(agent.pid, 'SIGKILL')
  await expect(page.getByText(/Reconnecting/).first()).toBeVisible({ timeout: 20_000 })
  await expect(page.getByText('Live', { exact: true }).first()).toBeVisible({ timeout: 60_000 })
  await works(app)
  expect(vmmsOf(host).map(({ pid }) => pid)).toEqual([vmm?.pid])
})

test('typing goes on over the death of the control plane, without a reload', async () => {
  await desktop.stop('SIGKILL')
  await expect(page.getByText('Eitri is not answering', { exact: false }).first()).toBeVisible({ timeout: 20_000 })
  await desktop.start()
  await expect(page.getByText('Live', { exact: true }).first()).toBeVisible({ timeout: 60_000 })
  await works(app)
})

test('a host that is cut off is said to be unreachable, its VM unknown and never stopped, and both come back', async () => {
  const origin = new URL(desktop.url).origin
  await page.goto(`${origin}/#/vms`)
  await expect(app.row('web1').getByText('Running', { exact: true })).toBeVisible()
  await host.dropPackets(true)
  try {
    await expect(app.row('web1').getByText(/^Unknown since/)).toBeVisible({ timeout: 60_000 })
    await expect(app.row('web1').getByText('Stopped', { exact: true })).toHaveCount(0)
    await app
      .link(/^Hosts/)
      .first()
      .click()
    await expect(app.row('rack1').getByText(/^Unreachable/)).toBeVisible({ timeout: 60_000 })
    await app
      .link(/^Fleet/)
      .first()
      .click()
    await expect(page.getByText(/rack1 does not answer/).first()).toBeVisible()
  } finally {
    await host.dropPackets(false)
  }
  await page
    .getByRole('button', { name: /^Try now/ })
    .first()
    .click()
  await app
    .link(/^Hosts/)
    .first()
    .click()
  await expect(app.row('rack1').getByText('Connected', { exact: true })).toBeVisible({ timeout: 60_000 })
  await app.link(/^VMs/).first().click()
  await expect(app.row('web1').getByText('Running', { exact: true })).toBeVisible({ timeout: 20_000 })
})

test('a host with another key is not signed in to until a person has compared and typed it', async () => {
  await host.replaceHostKey()
  // Its sshd goes on serving the connection there was; the network cuts that.
  await host.dropPackets(true)
  await app
    .link(/^Hosts/)
    .first()
    .click()
  await expect(app.row('rack1').getByText(/^Unreachable/)).toBeVisible({ timeout: 60_000 })
  await host.dropPackets(false)
  await expect(app.row('rack1').getByText('Key changed', { exact: true })).toBeVisible({ timeout: 60_000 })
  await app
    .link(/^Fleet/)
    .first()
    .click()
  await page
    .getByRole('button', { name: /Compare keys/ })
    .first()
    .click()
  const sheet = page.getByRole('dialog')
  await expect(sheet.getByText(host.hostKeyFingerprint).first()).toBeVisible()
  const replace = sheet.getByRole('button', { name: /^Replace/ })
  await expect(replace).toBeDisabled()
  await expect(sheet.getByRole('button', { name: 'Do not connect' })).toBeFocused()
  await sheet.getByRole('textbox').fill(host.hostKeyFingerprint.slice(-4))
  await replace.click()
  await app
    .link(/^Hosts/)
    .first()
    .click()
  await expect(app.row('rack1').getByText('Connected', { exact: true })).toBeVisible({ timeout: 60_000 })
})
