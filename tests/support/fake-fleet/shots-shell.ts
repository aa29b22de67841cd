import type { Page } from 'playwright-core'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { FakeFleet } from './fake-fleet.ts'
import { aTask, at } from './rows.ts'
import { busyScene, clockScene } from './scenes.ts'
import type { Shot } from './shot-list.ts'

const SECOND = 1000

/** A busy fleet whose hosts carry labels, with tasks of which one is slow, and past ones that tell what is usual. */
function shellScene(now: number): FleetState {
  const scene = busyScene(now)
  for (const [i, host] of scene.hosts.entries()) host.labels = i % 2 === 0 ? { site: 'ber', prod: '' } : { site: 'ham' }
  const built = [8, 9, 12, 14, 20].map((took, i) =>
    aTask({
      kind: 'build_image',
      subject: 'tiny',
      state: 'done',
      createdAt: at(now - (i + 2) * 3_600_000),
      endedAt: at(now - (i + 2) * 3_600_000 + took * SECOND),
    }),
  )
  const step = (name: string, state: string, rest = {}) => ({ name, state, detail: '', doneBytes: 0n, ...rest })
  const running = aTask({
    kind: 'build_image',
    subject: 'tiny',
    createdAt: at(now - 58 * SECOND),
    steps: [
      step('Find packages', 'done', { startedAt: at(now - 58 * SECOND), endedAt: at(now - 51 * SECOND) }),
      step('Fetch packages', 'running', {
        startedAt: at(now - 51 * SECOND),
        doneBytes: 12_400_000n,
        totalBytes: 43_000_000n,
      }),
      step('Pack the disk', 'waiting'),
    ],
  })
  scene.tasks.push(...built, running)
  return scene
}

const opened = async (page: Page) => {
  await page.getByRole('heading', { name: 'VMs' }).waitFor()
}

const firstRow = async (page: Page) => {
  await opened(page)
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('Space')
  await page.getByRole('complementary').waitFor()
}

/** The window was told before, so what comes now is news. */
const bell = async (page: Page, fleet: FakeFleet) => {
  await opened(page)
  await page.waitForTimeout(1500)
  const [web, db] = [fleet.vm('web-12'), fleet.vm('db-3')]
  for (const vm of [web, db])
    Object.assign(vm, { reason: 'vm/panicked', detail: 'Kernel panic: Attempted to kill init' })
  const old = fleet.vm('old-ci')
  old.quarantineEndsAt = at(Date.now() + 22 * 3_600_000)
  fleet.tell({ vms: [web, db, old] })
  await page.getByRole('button', { name: 'Notices, 1 new' }).click()
}

const inHighContrast = async (page: Page) => {
  await opened(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('high contrast')
  await page.keyboard.press('Enter')
}

export const SHELL_SHOTS: Shot[] = [
  { name: 's0-shell', path: '/vms', scene: shellScene, act: opened },
  { name: 's1-shell-dark', path: '/vms', scene: shellScene, act: opened, dark: true },
  { name: 's2-shell-narrow', path: '/vms', scene: shellScene, act: opened, size: { width: 720, height: 600 } },
  {
    name: 's3-scope',
    path: '/vms',
    scene: shellScene,
    act: async (page) => {
      await opened(page)
      await page.getByRole('button', { name: 'Scope: All hosts' }).click()
    },
  },
  {
    name: 's4-scoped-hosts',
    path: '/hosts',
    scene: shellScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Scope: All hosts' }).click()
      await page.getByRole('option', { name: 'site=ham' }).click()
    },
  },
  { name: 's5-drawer-vm', path: '/vms', scene: shellScene, act: firstRow },
  { name: 's6-drawer-vm-dark', path: '/vms', scene: shellScene, act: firstRow, dark: true },
  {
    name: 's7-drawer-host',
    path: '/hosts',
    scene: shellScene,
    act: async (page) => {
      await page.getByRole('heading', { name: 'Hosts' }).waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('Space')
      await page.getByRole('complementary').waitFor()
    },
  },
  {
    name: 's8-task',
    path: '/vms',
    scene: shellScene,
    act: async (page) => {
      await opened(page)
      await page.getByRole('button', { name: 'Building image tiny' }).click()
    },
  },
  { name: 's9-bell', path: '/vms', scene: shellScene, act: bell },
  { name: 'sa-bell-dark', path: '/vms', scene: shellScene, act: bell, dark: true },
  {
    name: 'sb-filter',
    path: '/vms',
    scene: clockScene,
    act: async (page) => {
      await opened(page)
      await page.keyboard.press('/')
      await page.keyboard.type('web state:')
    },
  },
  {
    name: 'sc-views',
    path: '/vms',
    scene: shellScene,
    dark: true,
    act: async (page) => {
      await opened(page)
      await page.getByRole('button', { name: 'Saved views' }).click()
    },
  },
  {
    name: 'sd-palette',
    path: '/vms',
    scene: shellScene,
    act: async (page) => {
      await opened(page)
      await page.keyboard.press('Control+k')
      await page.keyboard.type('>')
    },
  },
  {
    name: 'se-keys',
    path: '/vms',
    scene: shellScene,
    act: async (page) => {
      await opened(page)
      await page.keyboard.press('?')
    },
  },
  { name: 'sf-high-contrast', path: '/vms', scene: shellScene, act: inHighContrast },
  { name: 'sg-high-contrast-dark', path: '/vms', scene: shellScene, act: inHighContrast, dark: true },
  { name: 'sh-reflow', path: '/vms', scene: shellScene, act: opened, size: { width: 320, height: 640 } },
  {
    name: 'si-checking',
    path: '/vms',
    scene: shellScene,
    act: async (page, fleet) => {
      await opened(page)
      fleet.goDown()
      await page.getByText('has not answered since').waitFor()
      fleet.comeBack()
      await page.getByText('Checking 2 hosts').waitFor()
    },
  },
]
