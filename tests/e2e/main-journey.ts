import { expect, test } from '@playwright/test'
import { vmmsOf } from '../support/fleet.ts'
import type { SshHost } from '../support/ssh-host.ts'
import type { AppPage } from './app-page.ts'

const BUILD_TIMEOUT_MS = 150_000
const ADD_TIMEOUT_MS = 90_000
const BOOT_TIMEOUT_MS = 90_000
const ACT_TIMEOUT_MS = 40_000

/** The main path by clicks in a window that shows an empty fleet, whatever the window is in. */
export async function mainJourney(app: AppPage, host: SshHost): Promise<void> {
  const { page } = app

  await test.step('adds a host over SSH and accepts its key', async () => {
    await app.link('Add a host over SSH').click()
    await page.getByLabel('Host', { exact: true }).fill(`root@${host.address}`)
    await page.getByLabel('Name here').fill(host.name)
    await page.getByLabel('Key file').fill(host.clientKeyPath)
    await app.button('Add host').click()
    const sheet = app.sheet(/^Is this /)
    await expect(sheet.getByLabel(host.hostKeyFingerprint)).toBeVisible({ timeout: ACT_TIMEOUT_MS })
    await sheet.getByRole('button', { name: 'Trust and continue' }).click()
    await expect(page.getByText(`${host.name} is in your fleet`)).toBeVisible({ timeout: ADD_TIMEOUT_MS })
    expect(host.exists('/run/eitri/agent.sock')).toBe(true)
  })

  await test.step('builds the tiny image', async () => {
    await app.link(/^Images/).click()
    await app.button('Build the tiny image').first().click()
    await expect(app.row('tiny').getByText('default', { exact: true })).toBeVisible({ timeout: BUILD_TIMEOUT_MS })
  })

  await test.step('creates a VM and lands on its console', async () => {
    await app.link(/^VMs/).click()
    await app.link('Create VM').first().click()
    await page.getByLabel('Name', { exact: true }).fill('web1')
    await app.button('Create', true).click()
    await expect(page.getByRole('heading', { name: 'web1' })).toBeVisible()
    await app.seeInTerminal(/web1:~# /, BOOT_TIMEOUT_MS)
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
    await expect(app.state('Stopped')).toBeVisible({ timeout: ACT_TIMEOUT_MS })
    await expect.poll(() => vmmsOf(host).length).toBe(0)
  })

  await test.step('deletes it and brings it back', async () => {
    await app.link(/^VMs/).click()
    await app.act('web1', /^Delete/)
    await app.sheet('Delete web1?').getByRole('button', { name: 'Move to quarantine' }).click()
    await expect(app.row('web1').getByText(/In quarantine/)).toBeVisible({ timeout: ACT_TIMEOUT_MS })
    await app.row('web1').getByRole('button', { name: 'Undo deleting web1' }).click()
    await expect(app.row('web1').getByText('Stopped')).toBeVisible({ timeout: ACT_TIMEOUT_MS })
  })

  await test.step('deletes and destroys it', async () => {
    await app.act('web1', /^Delete/)
    await app.sheet('Delete web1?').getByRole('button', { name: 'Move to quarantine' }).click()
    await expect(app.row('web1').getByText(/In quarantine/)).toBeVisible({ timeout: ACT_TIMEOUT_MS })
    await app.act('web1', /^Destroy now/)
    const sheet = app.sheet('Destroy web1 for ever')
    await sheet.getByRole('textbox').fill('web1')
    // It may be pressed only after five seconds.
    await sheet.getByRole('button', { name: 'Destroy for ever', exact: true }).click({ timeout: ACT_TIMEOUT_MS })
    await expect(app.row('web1')).toHaveCount(0, { timeout: ACT_TIMEOUT_MS })
    const disks = await host.must(['find', '/var/lib/eitri', '-name', 'disk.qcow2'])
    expect(disks).toBe('')
  })

  expect(app.complaints).toEqual([])
}
