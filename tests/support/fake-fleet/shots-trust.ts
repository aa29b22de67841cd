import type { Page } from 'playwright-core'
import { portScene } from './port-scene.ts'
import { emptyScene } from './scenes.ts'
import type { Shot } from './shot-list.ts'
import { trustScene } from './trust-scene.ts'

const NARROW = { width: 720, height: 800 }

const opened = (button: string) => async (page: Page) => {
  await page.getByRole('row', { name: /people-2026/ }).waitFor()
  await page.getByRole('button', { name: button, exact: true }).click()
  await page.getByRole('dialog').waitFor()
}

const acted = (name: string, item: string) => async (page: Page) => {
  await page.getByRole('row', { name: /people-2026/ }).waitFor()
  await page.getByRole('button', { name, exact: true }).click()
  await page.getByRole('menuitem', { name: item }).click()
  await page.getByRole('dialog').waitFor()
}

const spread = async (page: Page) => {
  await acted('Rotate', 'The one for people…')(page)
  await page.getByText('missing, and why').click()
}

const issued = async (page: Page) => {
  await page.getByRole('button', { name: 'Issue a certificate' }).click()
  await page
    .getByLabel('Public key to certify')
    .fill(`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'C'.repeat(43)} you@laptop`)
  await page.getByLabel('For', { exact: true }).fill('web-12')
  await page.getByRole('button', { name: 'Issue', exact: true }).click()
  await page.getByText('The certificate is made').waitFor()
}

const probed = async (page: Page) => {
  await page.getByLabel('Select all rows').check()
  await page.getByRole('button', { name: 'Try to reach them' }).click()
  await page.getByText('Reachable').first().waitFor()
}

const portDrawer = async (page: Page) => {
  const row = page.getByRole('row', { name: /10\.0\.2\.7:8443/ })
  await row.focus()
  await page.keyboard.press(' ')
  await page.getByRole('button', { name: 'Try now' }).click()
  await page.getByText('ms', { exact: false }).first().waitFor()
}

const unpublishing = async (page: Page) => {
  await page.getByLabel('Select all rows').check()
  await page.getByRole('button', { name: 'Unpublish…' }).click()
  await page.getByRole('dialog').waitFor()
}

const columns = async (page: Page) => {
  await page.getByRole('button', { name: 'Choose columns' }).click()
  await page.getByRole('dialog', { name: 'Columns' }).waitFor()
}

const trust = { scene: trustScene }

/** Trust, and how published ports are tried. */
export const TRUST_SHOTS: Shot[] = [
  { name: 't01-authorities', path: '/trust', ...trust },
  { name: 't02-authorities-dark', path: '/trust', ...trust, dark: true },
  { name: 't03-authorities-narrow', path: '/trust', ...trust, size: NARROW },
  { name: 't04-create', path: '/trust', ...trust, act: opened('Create') },
  { name: 't05-import', path: '/trust', ...trust, act: opened('Import'), dark: true },
  { name: 't06-retire', path: '/trust', ...trust, act: acted('Actions for people', 'Retire…') },
  { name: 't07-rotate', path: '/trust', ...trust, act: spread },
  { name: 't08-rotate-dark', path: '/trust', ...trust, act: spread, dark: true },
  { name: 't09-certificates', path: '/trust/certificates', ...trust },
  { name: 't10-certificates-dark', path: '/trust/certificates', ...trust, dark: true },
  { name: 't11-certificates-none', path: '/trust/certificates', scene: emptyScene },
  { name: 't12-issued', path: '/trust/certificates', ...trust, act: issued },
  { name: 't13-revoked', path: '/trust/revoked', ...trust },
  { name: 't14-guests', path: '/trust/guests', ...trust },
  { name: 't15-guests-dark', path: '/trust/guests', ...trust, dark: true },
  { name: 't16-host-keys', path: '/trust/hosts', ...trust },
  { name: 't17-ports-probed', path: '/ports', scene: portScene, act: probed },
  { name: 't18-ports-probed-dark', path: '/ports', scene: portScene, act: probed, dark: true },
  { name: 't19-port-drawer', path: '/ports', scene: portScene, act: portDrawer, size: { width: 1440, height: 800 } },
  { name: 't20-ports-unpublish', path: '/ports', scene: portScene, act: unpublishing, dark: true },
  { name: 't21-columns', path: '/ports', scene: portScene, act: columns },
  { name: 't22-ports-narrow', path: '/ports', scene: portScene, size: NARROW },
]
