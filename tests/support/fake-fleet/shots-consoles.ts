import type { Page } from 'playwright-core'
import type { FakeConsole } from './fake-console.ts'
import type { FakeFleet } from './fake-fleet.ts'
import { busyScene } from './scenes.ts'
import { BOOT_LOG } from './serial-text.ts'
import type { Shot } from './shot-list.ts'

const pane = (pane: string, vmId: string) => ({ pane, target: { kind: 'console', vmId } })

/** Three consoles beside and below each other, as a window kept them; a shell in a second tab. */
async function openWorkspace(page: Page, fleet: FakeFleet): Promise<void> {
  const [web, mail, other] = [fleet.vm('web-12'), fleet.vm('mail-1'), fleet.vm('db-3')]
  const desk = {
    version: 1,
    shown: 'prod',
    workspaces: [
      {
        name: 'prod',
        active: 't1',
        tabs: [
          {
            id: 't1',
            active: 'a',
            layout: {
              to: 'down',
              at: 0.6,
              first: { to: 'right', at: 0.5, first: pane('a', web.id), second: pane('b', mail.id) },
              second: pane('c', other.id),
            },
          },
          {
            id: 't2',
            active: 'd',
            layout: { pane: 'd', target: { kind: 'shell', on: 'host', id: web.hostId, login: '' } },
          },
        ],
      },
    ],
  }
  await page.evaluate((text) => localStorage.setItem('eitri.consoles', text), JSON.stringify(desk))
  await page.reload()
  await page.getByRole('region', { name: 'Console of web-12' }).waitFor()
  await page.waitForTimeout(600)
}

const act =
  (
    more: (page: Page, fleet: FakeFleet) => Promise<void> = async () => {},
    before?: (c: FakeConsole, f: FakeFleet) => void,
  ) =>
  async (page: Page, fleet: FakeFleet, consoles: FakeConsole) => {
    before?.(consoles, fleet)
    await openWorkspace(page, fleet)
    await more(page, fleet)
  }

const shot = (name: string, act: NonNullable<Shot['act']>, more: Partial<Shot> = {}): Shot => ({
  name,
  path: '/consoles',
  scene: busyScene,
  serial: BOOT_LOG,
  act,
  ...more,
})

const unwell = (consoles: FakeConsole, fleet: FakeFleet) => {
  consoles.lines.set(fleet.vm('mail-1').id, { reconnecting: 'mail-1 on rack2-07: no answer from its host' })
  consoles.lines.set(fleet.vm('db-3').id, { readOnly: true })
}

const broadcast = async (page: Page) => {
  await page.getByRole('button', { name: 'Broadcast off' }).click()
  await page.getByRole('button', { name: 'Broadcast', exact: true }).click()
}

const action = (name: string | RegExp) => async (page: Page) => {
  await page.keyboard.press('Control+Shift+P')
  await page.getByRole('menuitem', { name }).click()
}

/** Consoles side by side, in each state a pane can have. */
export const CONSOLE_SHOTS: Shot[] = [
  shot('c0-workspace', act()),
  shot('c1-workspace-dark', act(), { dark: true }),
  shot('c2-states', act(undefined, unwell)),
  shot('c3-states-dark', act(undefined, unwell), { dark: true }),
  shot('c4-broadcast', act(broadcast, unwell)),
  shot('c4-broadcast-many', act(broadcast)),
  shot('c5-broadcast-dark', act(broadcast, unwell), { dark: true }),
  shot(
    'c6-find',
    act(async (page) => {
      await page.keyboard.press('Control+Shift+F')
      await page.getByRole('textbox', { name: 'Find in the console' }).fill('OK')
    }),
  ),
  shot('c7-read-as-text', act(action('Read as text'))),
  shot('c8-read-as-text-dark', act(action('Read as text')), { dark: true }),
  shot(
    'c9-menu',
    act(async (page) => {
      await page.keyboard.press('Control+Shift+P')
      await page.getByRole('menuitem', { name: 'Send keys' }).press('ArrowRight')
    }),
  ),
  shot(
    'ca-times',
    act(async (page) => {
      await page.keyboard.press('Control+Shift+P')
      await page.getByRole('menuitem', { name: 'View' }).press('ArrowRight')
      await page.getByRole('menuitemcheckbox', { name: 'Times of lines' }).click()
      await page.keyboard.type('uptime\n')
    }),
  ),
  shot(
    'cb-picker',
    act(async (page) => {
      await page.keyboard.press('Control+Shift+Backslash')
      await page.getByRole('combobox').fill('web')
    }),
  ),
  shot('cc-empty', async () => {}),
  shot('cd-empty-dark', async () => {}, { dark: true }),
  shot(
    'ce-shell',
    act(async (page) => {
      await page.getByRole('button', { name: 'rack2-07', exact: true }).click()
      await page.getByRole('region', { name: 'Shell of rack2-07' }).waitFor()
    }),
  ),
  shot('cf-fit', act(action(/^Fit/))),
  shot('cg-log', act(action(/^Save the log/))),
  shot('ch-narrow', act(undefined, unwell), { size: { width: 720, height: 900 } }),
]
