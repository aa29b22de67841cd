import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'
import { CountingHand, otherHostKey, signHostKey, writeSshConfig } from './journeys.ts'

const MAX_ACTS = 6
const MAX_SECONDS = 120

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.setTimeout(300_000)

let host: SshHost
let desktop: Desktop

test.beforeEach(async () => {
  host = await startSshHost({ name: 'rack1' })
  desktop = await new Desktop({ listen: '127.0.0.1:0' }).start()
})
test.afterEach(async () => {
  await desktop?.close()
  await host?.close()
})

test('from the first screen to the prompt of the first VM in six acts and two minutes, with an image at hand', async ({
  page,
}) => {
  const key = host.clientKeyPath
  writeSshConfig(desktop, [
    { name: 'rack1', address: host.address, key },
    { name: 'rack2', address: '192.0.2.7', key },
  ])
  const app = new AppPage(page)
  await page.goto(desktop.url)
  await expect(page.getByRole('heading', { name: /^Run virtual machines/ })).toBeVisible()
  await desktop.buildTiny()

  const hand = new CountingHand(page)
  const began = performance.now()
  await hand.click(app.link('Add a host over SSH'))
  await expect(page.getByRole('combobox', { name: 'Host' })).toBeFocused()
  await hand.click(page.getByRole('option', { name: 'rack1' }))
  await hand.click(app.button('Add host'))
  const sheet = app.sheet('Is this rack1?')
  await expect(sheet.getByLabel(host.hostKeyFingerprint)).toBeVisible({ timeout: 30_000 })
  await expect(sheet.getByRole('button', { name: 'Do not connect' })).toBeFocused()
  await hand.click(sheet.getByRole('button', { name: 'Trust and continue' }))
  await expect(page.getByText('rack1 is in your fleet')).toBeVisible({ timeout: 90_000 })
  await hand.click(app.link('Create your first VM'))
  await hand.click(app.button('Create', true))
  await app.seeInTerminal(/^[\w-]+:~# /m, 90_000)
  const seconds = (performance.now() - began) / 1000

  console.log(`first run: ${hand.acts} acts, ${seconds.toFixed(1)} s to the prompt, the build of the image not counted`)
  expect(hand.acts).toBeLessThanOrEqual(MAX_ACTS)
  expect(seconds).toBeLessThan(MAX_SECONDS)
  expect(app.complaints).toEqual([])
})

test('the only host of the ssh configuration is chosen already, and a key signed by a CA of known_hosts asks nothing', async ({
  page,
}) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-ca-'))
  fs.writeFileSync(path.join(desktop.home, '.ssh/known_hosts'), await signHostKey(host, dir))
  fs.rmSync(dir, { recursive: true })
  writeSshConfig(desktop, [{ name: 'rack1', address: host.address, key: host.clientKeyPath }])
  const app = new AppPage(page)
  await page.goto(desktop.url)
  const hand = new CountingHand(page)
  await hand.click(app.link('Add a host over SSH'))
  await expect(page.getByRole('combobox', { name: 'Host' })).toHaveValue('rack1')
  await hand.enter()
  await expect(page.getByText('rack1 is in your fleet')).toBeVisible({ timeout: 90_000 })
  await expect(page.getByText(/signed by a certificate authority of your known_hosts/).first()).toBeVisible()
  expect(hand.acts).toBe(2)
  expect(app.complaints).toEqual([])
})

test('a host that answers with another key than known_hosts has is not added until both were seen and the new one typed', async ({
  page,
}) => {
  const known = otherHostKey(host)
  fs.writeFileSync(path.join(desktop.home, '.ssh/known_hosts'), known.line)
  writeSshConfig(desktop, [{ name: 'rack1', address: host.address, key: host.clientKeyPath }])
  const app = new AppPage(page)
  await page.goto(desktop.url)
  await app.link('Add a host over SSH').click()
  await app.button('Add host').click()
  const sheet = app.sheet('rack1 answered with a different host key')
  const refuse = sheet.getByRole('button', { name: 'Do not connect' })
  await expect(refuse).toBeFocused({ timeout: 30_000 })
  await expect(sheet.getByLabel(known.fingerprint)).toBeVisible()
  await expect(sheet.getByLabel(host.hostKeyFingerprint)).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(sheet).toHaveCount(0)
  expect((await desktop.must(['host', 'list'])).hosts).toEqual([])
  expect(host.exists('/run/eitri/agent.sock')).toBe(false)

  await app.go('Fleet')
  await app.link('Add a host over SSH').click()
  await app.button('Add host').click()
  const replace = sheet.getByRole('button', { name: 'Replace the key' })
  await expect(replace).toBeDisabled({ timeout: 30_000 })
  await sheet.getByRole('textbox').fill('none')
  await expect(replace).toBeDisabled()
  await sheet.getByRole('textbox').fill(host.hostKeyFingerprint.slice(-4))
  await replace.click()
  await expect(page.getByText('rack1 is in your fleet')).toBeVisible({ timeout: 90_000 })
  expect(app.complaints).toEqual([])
})
