import { expect, test } from '@playwright/test'
import { Desktop } from '../support/eitri.ts'
import { vmmsOf } from '../support/fleet.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'

test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.setTimeout(240_000)

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

  await test.step('adds a host over SSH and accepts its key', async () => {
    await app.link('Add a host over SSH').click()
    await page.getByLabel('Host', { exact: true }).fill(`root@${host.address}`)
    await page.getByLabel('Name here').fill('rack1')
    await page.getByLabel('Key file').fill(host.clientKeyPath)
    await app.button('Add host').click()
    const sheet = app.sheet(/^Is this /)
    await expect(sheet.getByLabel(host.hostKeyFingerprint)).toBeVisible()
    await sheet.getByRole('button', { name: 'Trust and continue' }).click()
    await expect(page.getByText('rack1 is in your fleet')).toBeVisible({ timeout: 60_000 })
    expect(host.exists('/run/eitri/agent.sock')).toBe(true)
  })

  await test.step('builds the tiny image', async () => {
    await app.link(/^Images/).click()
    await app.button('Build the tiny image').first().click()
    await expect(app.row('tiny').getByText('default', { exact: true })).toBeVisible({ timeout: 60_000 })
  })

  await test.step('creates a VM and lands on its console', async () => {
    await app.link(/^VMs/).click()
    await app.link('Create VM').first().click()
    await page.getByLabel('Name', { exact: true }).fill('web1')
    await app.button('Create', true).click()
    await expect(page.getByRole('heading', { name: 'web1' })).toBeVisible()
    await app.seeInTerminal(/web1:~# /, 90_000)
    await expect(app.state('Running')).toBeVisible()
    expect(vmmsOf(host)).toHaveLength(1)
  })

  await test.step('types on its console and reads the answer', async () => {
    await app.typeInTerminal('echo $((6*7))-ok')
    await app.seeInTerminal(/^42-ok$/m)
  })

  await test.step('finds the same text after a reload', async () => {
    await page.reload()
    await app.seeInTerminal(/^42-ok$/m)
    await app.typeInTerminal('echo $((6*9))-again')
    await app.seeInTerminal(/^54-again$/m)
  })

  await test.step('stops it', async () => {
    await app.button('Stop', true).click()
    await expect(app.state('Stopped')).toBeVisible({ timeout: 40_000 })
    await expect.poll(() => vmmsOf(host).length).toBe(0)
  })

  await test.step('deletes it and brings it back', async () => {
    await app.link(/^VMs/).click()
    await app.act('web1', /^Delete/)
    await app.sheet('Delete web1?').getByRole('button', { name: 'Move to quarantine' }).click()
    await expect(app.row('web1').getByText(/In quarantine/)).toBeVisible({ timeout: 20_000 })
    await app.row('web1').getByRole('button', { name: 'Undo deleting web1' }).click()
    await expect(app.row('web1').getByText('Stopped')).toBeVisible({ timeout: 20_000 })
  })

  await test.step('deletes and destroys it', async () => {
    await app.act('web1', /^Delete/)
    await app.sheet('Delete web1?').getByRole('button', { name: 'Move to quarantine' }).click()
    await expect(app.row('web1').getByText(/In quarantine/)).toBeVisible({ timeout: 20_000 })
    await app.act('web1', /^Destroy now/)
    const sheet = app.sheet('Destroy web1 for ever')
    await sheet.getByRole('textbox').fill('web1')
    await sheet.getByRole('button', { name: 'Destroy for ever', exact: true }).click({ timeout: 10_000 })
    await expect(app.row('web1')).toHaveCount(0, { timeout: 30_000 })
    const disks = await host.must(['find', '/var/lib/eitri', '-name', 'disk.qcow2'])
    expect(disks).toBe('')
  })

  expect(app.complaints).toEqual([])
})
