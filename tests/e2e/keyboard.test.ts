import { expect, test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'
import { greeting, Keyboard, writeSshConfig } from './journeys.ts'

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.setTimeout(300_000)

let host: SshHost
let desktop: Desktop

test.beforeAll(async () => {
  host = await startSshHost({ name: 'rack1' })
  desktop = await new Desktop({ listen: '127.0.0.1:0' }).start()
  const key = host.clientKeyPath
  writeSshConfig(desktop, [
    { name: 'rack1', address: host.address, key },
    { name: 'rack2', address: '192.0.2.7', key },
  ])
})
test.afterAll(async () => {
  await desktop?.close()
  await host?.close()
})

const BAD_USER_DATA = '#cloud-config\nruncmd:\n  - echo status: ok >/run/mended\n'

test('the main path by the keyboard alone', async ({ page }) => {
  const app = new AppPage(page)
  const keys = new Keyboard(page)
  await page.goto(desktop.url)
  await expect(page.getByRole('heading', { name: /^Run virtual machines/ })).toBeVisible()
  await desktop.buildTiny()

  await test.step('adds a host of the ssh configuration', async () => {
    await keys.tabToAndEnter(app.link('Add a host over SSH'))
    await expect(page.getByRole('combobox', { name: 'Host' })).toBeFocused()
    const option = page.getByRole('option', { name: 'rack1' })
    await expect(option).toBeVisible()
    await keys.press('ArrowDown')
    await expect(option).toHaveAttribute('aria-selected', 'true')
    await keys.press('Enter')
    await expect(page.getByRole('combobox', { name: 'Host' })).toHaveValue('rack1')
    await keys.press('Enter')
  })

  await test.step('trusts its key, which no key pressed too early can do', async () => {
    const sheet = app.sheet('Is this rack1?')
    await expect(sheet.getByRole('button', { name: 'Do not connect' })).toBeFocused({ timeout: 30_000 })
    await keys.tabToAndEnter(sheet.getByRole('button', { name: 'Trust and continue' }))
    await expect(page.getByText('rack1 is in your fleet')).toBeVisible({ timeout: 90_000 })
  })

  await test.step('goes on from there to its first VM, and lands in its console', async () => {
    await expect(app.link('Create your first VM')).toBeFocused()
    await keys.press('Enter')
    await keys.tabTo(page.getByLabel('Name', { exact: true }))
    await keys.type('web1')
  })

  await test.step('gives it user-data, is told of the mistake in it, and has that mended', async () => {
    await keys.tabTo(page.getByRole('textbox', { name: 'cloud-init user-data' }))
    await page.keyboard.insertText(BAD_USER_DATA)
    await expect(page.getByText(/^User-data: line 3: /)).toBeVisible()
    await expect(app.button('Create', true)).toBeDisabled()
    // Tab belongs to the editor until Esc.
    await keys.press('Escape')
    await keys.tabToAndEnter(app.button(/^Apply the fix in line 3/))
    await expect(app.button('Create', true)).toBeEnabled()
  })

  await test.step('creates it and lands in its console, where the user-data did what it says', async () => {
    await keys.press('Control+Enter')
    await app.seeInTerminal(/web1:~# /, 90_000)
    await keys.type('until [ -e /run/mended ]; do sleep 1; done; cat /run/mended')
    await keys.press('Enter')
    await app.seeInTerminal(/^status: ok$/m)
    await keys.type('echo $((6*7))-ok')
    await keys.press('Enter')
    await app.seeInTerminal(/^42-ok$/m)
  })

  await test.step('leaves the console by F6, and comes back by c', async () => {
    await keys.press('F6')
    await expect(page.locator('.xterm :focus')).toHaveCount(0)
    await keys.press('Alt+1')
    await expect(app.link('Overview')).toHaveAttribute('aria-current', 'page')
    await keys.press('c')
    await app.seeInTerminal(/^42-ok$/m)
    await keys.type('echo $((6*9))-again')
    await keys.press('Enter')
    await app.seeInTerminal(/^54-again$/m)
    await keys.press('F6')
  })

  await test.step('takes the keyboard of the console in a second window', async () => {
    const second = await page.context().newPage()
    const other = new AppPage(second)
    const hands = new Keyboard(second)
    await second.goto(page.url())
    await other.seeInTerminal(/^54-again$/m)
    await hands.press('F6')
    await hands.tabToAndEnter(other.button('Take keyboard'))
    await expect(other.button('Take keyboard')).toHaveCount(0)
    await hands.type('echo $((6*8))-taken')
    await hands.press('Enter')
    await app.seeInTerminal(/^48-taken$/m)
    await expect(app.button('Take keyboard')).toBeVisible()
    await second.close()
  })

  await test.step('has its clock set again', async () => {
    await keys.press('g', 'k')
    await expect(app.row('web1').getByText(/^In step/)).toBeVisible({ timeout: 60_000 })
    await keys.tabToAndEnter(app.button('Re-sync the clock of web1'))
    await expect(page.getByText(/^Clock of web1 on rack1: In step/)).toBeVisible({ timeout: 30_000 })
    await keys.press('g', 'v')
    await expect(page.getByRole('heading', { name: 'VMs' })).toBeVisible()
    await keys.press('j', 'Enter')
    await expect(page.getByRole('heading', { name: 'web1' })).toBeVisible()
  })

  await test.step('publishes the port of its SSH server, which answers there', async () => {
    await keys.press('p')
    await expect(app.sheet('Publish a port of web1').getByLabel('Port in the guest')).toBeFocused()
    await keys.type('22')
    await keys.press('Enter')
    await expect(app.sheet('Publish a port of web1')).toHaveCount(0)
    await keys.press('g', 'p')
    await expect(app.row('web1')).toBeVisible()
    const { ports } = await desktop.must(['port', 'list'])
    await expect.poll(() => greeting(host.address, ports[0].host_port), { timeout: 60_000 }).toMatch(/^SSH-2\.0/)
  })

  await test.step('finds the VM by the palette and stops it', async () => {
    await keys.press('Control+k')
    await keys.type('@web1')
    await expect(page.getByRole('option', { name: /^web1/ }).first()).toHaveAttribute('aria-selected', 'true')
    await keys.press('Enter')
    await expect(page.getByRole('heading', { name: 'web1' })).toBeVisible()
    await keys.tabToAndEnter(app.button('Stop', true))
    await expect(app.state('Stopped')).toBeVisible({ timeout: 40_000 })
  })

  await test.step('deletes it and takes that back, always on its row', async () => {
    await keys.press('g', 'v')
    await expect(page.getByRole('heading', { name: 'VMs' })).toBeVisible()
    await keys.press('j')
    await expect(app.row('web1')).toBeFocused()
    await keys.press('.')
    await keys.choose(page.getByRole('menuitem', { name: /^Delete/ }))
    await expect(app.sheet('Delete web1?').getByRole('button', { name: 'Keep it' })).toBeFocused()
    await keys.tabToAndEnter(app.sheet('Delete web1?').getByRole('button', { name: 'Move to quarantine' }))
    await expect(app.row('web1').getByText(/In quarantine/)).toBeVisible({ timeout: 20_000 })
    await expect(app.row('web1')).toBeFocused()
    await keys.press('.')
    await keys.choose(page.getByRole('menuitem', { name: 'Undo delete' }))
    await expect(app.row('web1').getByText('Stopped')).toBeVisible({ timeout: 20_000 })
    await keys.press('j')
    await expect(app.row('web1')).toBeFocused()
  })

  await test.step('starts all it has chosen', async () => {
    await keys.press('x')
    await keys.tabToAndEnter(app.button('Start…', true))
    const sheet = page.getByRole('dialog')
    await expect(sheet.getByText('web1')).toBeVisible()
    await keys.tabToAndEnter(sheet.getByRole('button', { name: /^Start / }))
    await expect(app.row('web1').getByText('Running', { exact: true })).toBeVisible({ timeout: 60_000 })
  })

  await test.step('goes wherever it likes', async () => {
    for (const [letter, title] of PLACES) {
      await keys.press('g', letter)
      await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
    }
    await keys.press('?')
    await expect(page.getByRole('dialog')).toBeVisible()
    await keys.press('Escape')
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await keys.press('n')
    await expect(page.getByRole('heading', { name: 'Create VM' })).toBeVisible()
  })
  expect(app.complaints).toEqual([])
})

const PLACES = [
  ['f', 'Fleet'],
  ['h', 'Hosts'],
  ['c', 'Consoles'],
  ['i', 'Images'],
  ['n', 'Networks'],
  ['t', 'Trust'],
  ['k', 'Clock'],
  ['a', 'Activity'],
  [',', 'Settings'],
  ['v', 'VMs'],
] as const
