import type { Page } from 'playwright-core'
import type { FakeFleet } from './fake-fleet.ts'
import { hostScene } from './host-scene.ts'
import type { Shot } from './shot-list.ts'

const hostPage =
  (name: string, tab = '') =>
  async (page: Page, fleet: FakeFleet) => {
    await page.evaluate(
      (hash) => {
        location.hash = hash
      },
      `#/hosts/${fleet.host(name).id}${tab}`,
    )
    await page.getByRole('heading', { name }).waitFor()
  }

const actsOf = (name: string, item: string) => async (page: Page) => {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
  await page.getByRole('dialog').waitFor()
}

const TABS = ['', '/vms', '/storage', '/networks', '/ssh', '/agent', '/activity']

const base = { path: '/hosts', scene: hostScene }

/** Hosts: the list, each part of one, and every sheet that changes one. */
export const HOST_SHOTS: Shot[] = [
  { name: 'h10-hosts', ...base },
  { name: 'h10-hosts-dark', ...base, dark: true },
  { name: 'h11-hosts-wide', ...base, size: { width: 1900, height: 900 } },
  { name: 'h12-hosts-narrow', ...base, size: { width: 720, height: 700 } },
  {
    name: 'h13-hosts-selected',
    ...base,
    act: async (page) => {
      for (const name of ['rack2-07', 'rack2-08', 'edge-1'])
        await page.locator('tr', { hasText: name }).getByRole('checkbox').check()
    },
  },
  {
    name: 'h14-hosts-menu',
    ...base,
    act: (page) => page.getByRole('button', { name: 'Actions for colo-1' }).click(),
  },
  ...TABS.map(
    (tab, i): Shot => ({ name: `h2${i}-host${tab.replace('/', '-')}`, ...base, act: hostPage('rack2-07', tab) }),
  ),
  ...TABS.map(
    (tab, i): Shot => ({
      name: `h3${i}-joined${tab.replace('/', '-')}-dark`,
      ...base,
      dark: true,
      act: hostPage('colo-1', tab),
    }),
  ),
  { name: 'h40-host-unreachable', ...base, act: hostPage('edge-1') },
  { name: 'h41-host-key-changed', ...base, act: hostPage('db-rack-3') },
  { name: 'h42-host-drained-dark', ...base, dark: true, act: hostPage('rack2-08') },
  { name: 'h43-host-local', ...base, act: hostPage('this-computer', '/ssh') },
  { name: 'h44-host-narrow', ...base, size: { width: 720, height: 900 }, act: hostPage('rack2-08') },
  { name: 'h45-host-unreachable-storage', ...base, act: hostPage('edge-1', '/storage') },
  { name: 'h50-edit', ...base, act: actsOf('rack2-07', 'Edit') },
  { name: 'h51-drain', ...base, act: actsOf('rack2-07', 'Drain') },
  {
    name: 'h52-drain-many-dark',
    ...base,
    dark: true,
    act: async (page) => {
      for (const name of ['rack2-07', 'edge-1', 'rack2-08', 'this-computer'])
        await page.locator('tr', { hasText: name }).getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Drain…' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'h53-update-many',
    ...base,
    act: async (page) => {
      for (const name of ['rack2-07', 'edge-1', 'rack2-08', 'colo-1'])
        await page.locator('tr', { hasText: name }).getByRole('checkbox').check()
      await page.getByRole('button', { name: 'Update agents…' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  { name: 'h54-revoke-dark', ...base, dark: true, act: actsOf('colo-1', 'Revoke') },
  { name: 'h55-remove', ...base, act: actsOf('rack2-07', 'Remove') },
  { name: 'h56-remove-silent-dark', ...base, dark: true, act: actsOf('edge-1', 'Remove') },
  { name: 'h57-compare-keys', ...base, act: actsOf('db-rack-3', 'Compare') },
  { name: 'h58-sign-in', ...base, act: actsOf('build-4', 'Sign in') },
]
