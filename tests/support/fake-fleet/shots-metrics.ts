import type { Page } from 'playwright-core'
import type { FakeFleet } from './fake-fleet.ts'
import { clockScene } from './scenes.ts'
import type { Shot } from './shot-list.ts'

/** To a VM's or host's tab by its name: ids differ with each scene. */
const to =
  (kind: 'vm' | 'host', name: string, tab: string) =>
  async (page: Page, fleet: FakeFleet): Promise<void> => {
    const id = (kind === 'vm' ? fleet.vm(name) : fleet.host(name)).id
    const [path] = page.url().split('#')
    await page.goto(`${path}#/${kind}s/${id}/${tab}`)
  }

const charts = async (page: Page) => {
  await page.locator('canvas').first().waitFor()
}

const TALL = { width: 1280, height: 1500 }

/** Charts and clocks, with a gap and a jump in them. */
export const METRICS_SHOTS: Shot[] = [
  ...[false, true].flatMap((dark): Shot[] => [
    {
      name: dark ? 'm1-clock-tab-dark' : 'm0-clock-tab',
      path: '/clock',
      scene: clockScene,
      dark,
      size: TALL,
      settleMs: 900,
      act: async (page, fleet) => {
        await to('vm', 'db-3', 'clock')(page, fleet)
        await charts(page)
      },
    },
    {
      name: dark ? 'm3-vm-charts-dark' : 'm2-vm-charts',
      path: '/clock',
      scene: clockScene,
      dark,
      size: { width: 1280, height: 1900 },
      settleMs: 900,
      act: async (page, fleet) => {
        await to('vm', 'web-12', 'overview')(page, fleet)
        await charts(page)
        await page.getByRole('slider', { name: /^CPU/ }).focus()
        for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowLeft')
      },
    },
    {
      name: dark ? 'm5-host-charts-dark' : 'm4-host-charts',
      path: '/clock',
      scene: clockScene,
      dark,
      size: { width: 1280, height: 1900 },
      settleMs: 900,
      act: async (page, fleet) => {
        await to('host', 'rack2-07', 'overview')(page, fleet)
        await charts(page)
        await page.getByRole('button', { name: '6 h' }).click()
      },
    },
    { name: dark ? 'm7-clock-page-dark' : 'm6-clock-page', path: '/clock', scene: clockScene, dark, settleMs: 900 },
  ]),
  {
    name: 'm11-clock-page-wide',
    path: '/clock',
    scene: clockScene,
    size: { width: 1600, height: 800 },
    settleMs: 900,
    act: async (page) => {
      for (const name of ['db-3', 'web-13', 'cache-1'])
        await page.locator('tr', { hasText: name }).getByRole('checkbox').check()
    },
  },
  {
    name: 'm8-charts-as-table',
    path: '/clock',
    scene: clockScene,
    size: TALL,
    settleMs: 500,
    act: async (page, fleet) => {
      await to('vm', 'web-12', 'overview')(page, fleet)
      await charts(page)
      await page.getByRole('button', { name: 'Read as table' }).click()
    },
  },
  {
    name: 'm9-charts-narrow',
    path: '/clock',
    scene: clockScene,
    dark: true,
    size: { width: 720, height: 1900 },
    settleMs: 900,
    act: async (page, fleet) => {
      await to('vm', 'web-13', 'overview')(page, fleet)
      await charts(page)
    },
  },
  {
    name: 'm10-charts-silent-host',
    path: '/clock',
    scene: clockScene,
    size: TALL,
    settleMs: 900,
    act: async (page, fleet) => {
      await to('vm', 'db-3', 'clock')(page, fleet)
      await charts(page)
      const host = fleet.host('rack2-07')
      Object.assign(host, { link: 'unreachable', stale: true })
      fleet.tell({
        hosts: [host],
        vms: fleet.state.vms.filter((vm) => vm.hostId === host.id).map((vm) => ({ ...vm, hostUnknown: true })),
      })
    },
  },
]
