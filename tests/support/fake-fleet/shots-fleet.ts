import type { Page } from 'playwright-core'
import { aTrail, vmActsScene } from './activity-scene.ts'
import type { FakeFleet } from './fake-fleet.ts'
import { calmScene, pressingScene } from './fleet-scene.ts'
import { busyScene, clockScene } from './scenes.ts'
import type { Shot } from './shot-list.ts'

/** The first page: what needs a person, capacity, what goes on. */
export const FLEET_SHOTS: Shot[] = [
  { name: 'fl0-fleet', path: '/', scene: pressingScene, size: { width: 1280, height: 1300 } },
  { name: 'fl1-fleet-dark', path: '/', scene: pressingScene, dark: true, size: { width: 1280, height: 1300 } },
  { name: 'fl2-fleet-calm', path: '/', scene: calmScene },
  { name: 'fl3-fleet-narrow', path: '/', scene: clockScene, size: { width: 720, height: 1200 } },
  { name: 'fl4-fleet-zoomed', path: '/', scene: busyScene, dark: true, size: { width: 640, height: 900 } },
]

const TALL = { width: 1280, height: 1000 }
const settings = (part: string) => `/settings/${part}`

/** Every part of the settings. */
export const SETTINGS_SHOTS: Shot[] = [
  { name: 'st0-appearance', path: '/settings', scene: busyScene },
  { name: 'st1-keys-dark', path: settings('keys'), scene: busyScene, dark: true, size: TALL },
  { name: 'st2-terminal', path: settings('terminal'), scene: busyScene, size: TALL },
  { name: 'st3-notifications-dark', path: settings('notifications'), scene: busyScene, dark: true, size: TALL },
  { name: 'st4-quarantine', path: settings('quarantine'), scene: busyScene },
  {
    name: 'st5-quarantine-none',
    path: settings('quarantine'),
    scene: busyScene,
    act: async (page) => {
      await page.getByLabel('How long deleted VMs of lab are kept').selectOption('0')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'st6-ssh',
    path: settings('ssh'),
    scene: (now) => {
      const fleet = busyScene(now)
      fleet.hosts.forEach((host, i) => {
        host.secretsKept = ['memory', '', 'keychain'][i] ?? ''
      })
      return fleet
    },
    size: TALL,
  },
  { name: 'st7-data-dark', path: settings('data'), scene: busyScene, dark: true, size: TALL },
  {
    name: 'st8-backup',
    path: settings('data'),
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Back up now…' }).click()
      await page.getByRole('button', { name: 'Back up', exact: true }).click()
      await page.getByText('Backed up').waitFor()
    },
  },
  { name: 'st9-support', path: settings('support'), scene: busyScene },
  {
    name: 'sta-support-preview',
    path: settings('support'),
    scene: busyScene,
    size: { width: 1280, height: 1200 },
    act: async (page) => {
      await page.getByRole('button', { name: 'Show what it would hold' }).click()
      await page.getByText('Show hosts.txt').click()
      await page.getByRole('checkbox', { name: 'Put log.txt into the bundle' }).click()
      await page.getByRole('button', { name: 'Write 3 files' }).click()
      await page.getByText('Look it over once more').waitFor()
    },
  },
  {
    name: 'stb-settings-narrow-dark',
    path: settings('data'),
    scene: busyScene,
    dark: true,
    size: { width: 640, height: 900 },
  },
]

const withTrail = (path: string) => async (page: Page, fleet: FakeFleet) => {
  fleet.audit = aTrail(fleet.state, Date.now())
  await page.evaluate((hash) => {
    location.hash = hash
  }, path)
}

/** The trail and the tasks. */
export const ACTIVITY_SHOTS: Shot[] = [
  {
    name: 'ac0-activity',
    path: '/vms',
    scene: busyScene,
    size: TALL,
    act: async (page, fleet) => {
      await withTrail('#/activity')(page, fleet)
      await page.getByRole('button', { name: 'Show details: VM web-12 was changed' }).click()
    },
  },
  {
    name: 'ac1-activity-dark',
    path: '/vms',
    scene: busyScene,
    dark: true,
    act: async (page, fleet) => {
      await withTrail('#/activity?filter=action%3Avm.+since%3A2d')(page, fleet)
      await page.getByRole('button', { name: /Show details: VM ci-runner-7/ }).click()
    },
  },
  {
    name: 'ac2-activity-narrow',
    path: '/vms',
    scene: busyScene,
    size: { width: 640, height: 900 },
    act: withTrail('#/activity'),
  },
  {
    name: 'ac7-activity-failed',
    path: '/vms',
    scene: busyScene,
    size: TALL,
    act: async (page, fleet) => {
      await withTrail('#/activity?filter=result%3Afailed')(page, fleet)
      await page.getByRole('button', { name: /Show details: Adding host edge-2/ }).click()
    },
  },
  { name: 'ac3-activity-none', path: '/activity?filter=nothing+like+it', scene: busyScene },
  { name: 'ac4-activity-bad-since', path: '/activity?filter=since%3Ayesterday', scene: busyScene },
  { name: 'ac5-tasks', path: '/tasks', scene: pressingScene, size: TALL },
  { name: 'ac6-tasks-dark', path: '/tasks', scene: pressingScene, dark: true },
  { name: 'ac8-vm-tasks', path: '/tasks', scene: vmActsScene, size: TALL },
  { name: 'ac9-vm-tasks-dark', path: '/tasks', scene: vmActsScene, dark: true, size: TALL },
  {
    name: 'fl5-fleet-recent',
    path: '/vms',
    scene: pressingScene,
    size: { width: 1280, height: 1500 },
    act: withTrail('#/'),
  },
]
