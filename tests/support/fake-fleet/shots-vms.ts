import type { Page } from 'playwright-core'
import type { FakeFleet } from './fake-fleet.ts'
import { emptyScene } from './scenes.ts'
import { vmPage } from './shot-acts.ts'
import type { Shot } from './shot-list.ts'
import { vmScene } from './vm-scene.ts'

const WIDE = { width: 1760, height: 900 }
const NARROW = { width: 720, height: 800 }
/** Heights at which no row is cut in two: what is half behind the bar has no size of its own. */
const WHOLE_ROWS = { width: 1280, height: 804 }
const NARROW_WHOLE_ROWS = { width: 720, height: 806 }

const list = async (page: Page) => {
  await page.getByRole('heading', { name: 'VMs', exact: true }).waitFor()
}

const tree = async (page: Page) => {
  await list(page)
  await page.getByRole('button', { name: 'Tree' }).click()
  await page.getByRole('treegrid').waitFor()
}

const chosen =
  (...names: string[]) =>
  async (page: Page) => {
    await list(page)
    for (const name of names)
      await page.getByRole('row').filter({ hasText: name }).first().getByRole('checkbox').check()
  }

const chosenAll = async (page: Page) => {
  await chosen('cache-1')(page)
  await page.getByRole('button', { name: /^Select all/ }).click()
}

const bulk = (act: string) => async (page: Page) => {
  await chosenAll(page)
  await page.getByRole('region', { name: 'Selected rows' }).getByRole('button', { name: act }).click()
  await page.getByRole('dialog').waitFor()
}

const menu = (vm: string, item: string) => async (page: Page) => {
  await list(page)
  await page.getByRole('button', { name: `Actions for ${vm}` }).click()
  await page.getByRole('menuitem', { name: item }).click()
  await page.getByRole('dialog').waitFor()
}

const edited = async (page: Page) => {
  await menu('db-3', 'Edit')(page)
  await page.getByLabel('vCPUs').fill('6')
  await page.getByLabel('Memory (MB)').fill('16384')
  await page.getByLabel('Disk (GB)').fill('120')
  await page.getByLabel('Labels').fill('app=shop, tier=data, prod')
  await page.getByLabel('Protected').check()
}

/** Its VM left while the sheet stood open. */
const goneUnderSheet = async (page: Page, fleet: FakeFleet) => {
  await edited(page)
  fleet.tell({ removedVmIds: [fleet.vm('db-3').id] })
  await page.getByRole('dialog').getByRole('alert').waitFor()
}

const ranBulk = async (page: Page, fleet: FakeFleet) => {
  await bulk('Delete…')(page)
  await page.getByRole('button', { name: /^Move \d+ VMs to quarantine/ }).click()
  await page.getByRole('region', { name: 'Acts on many VMs' }).waitFor()
  await page.waitForTimeout(600)
  for (const name of ['cache-1', 'db-3']) {
    const vm = fleet.vm(name)
    vm.quarantineEndsAt = { ...vm.deletedAt!, seconds: vm.deletedAt!.seconds + 604_800n }
    fleet.tell({ vms: [vm] })
  }
}

const emptyWithHost = (now: number) => Object.assign(vmScene(now), { vms: [], ports: [] })

export const VM_SHOTS: Shot[] = [
  { name: 'v24-sheet-gone', path: '/vms', scene: vmScene, act: goneUnderSheet },
  { name: 'v24-sheet-gone-dark', path: '/vms', scene: vmScene, dark: true, act: goneUnderSheet },
  { name: 'v01-list', path: '/vms', scene: vmScene, act: list },
  { name: 'v02-list-dark', path: '/vms', scene: vmScene, dark: true, act: list },
  { name: 'v03-list-wide', path: '/vms', scene: vmScene, size: WIDE, act: list },
  { name: 'v04-list-narrow', path: '/vms', scene: vmScene, size: NARROW_WHOLE_ROWS, act: chosen('cache-1', 'db-3') },
  { name: 'v05-tree', path: '/vms', scene: vmScene, act: tree },
  { name: 'v06-tree-dark', path: '/vms', scene: vmScene, dark: true, size: WIDE, act: tree },
  { name: 'v07-selected', path: '/vms', scene: vmScene, size: WHOLE_ROWS, act: chosen('cache-1', 'db-3', 'lab-2') },
  { name: 'v08-bulk-stop', path: '/vms', scene: vmScene, act: bulk('Stop…') },
  { name: 'v09-bulk-delete-dark', path: '/vms', scene: vmScene, dark: true, act: bulk('Delete…') },
  {
    name: 'v10-bulk-labels',
    path: '/vms',
    scene: vmScene,
    act: async (page) => {
      await bulk('Labels…')(page)
      await page.getByLabel('Labels to set').fill('app=shop, checked')
    },
  },
  { name: 'v11-bulk-running', path: '/vms', scene: vmScene, act: ranBulk },
  {
    name: 'v12-bulk-running-dark-narrow',
    path: '/vms',
    scene: vmScene,
    dark: true,
    size: { width: 720, height: 807 },
    act: ranBulk,
  },
  { name: 'v13-edit', path: '/vms', scene: vmScene, act: edited },
  { name: 'v14-edit-dark', path: '/vms', scene: vmScene, dark: true, act: edited },
  {
    name: 'v15-edit-wrong-narrow',
    path: '/vms',
    scene: vmScene,
    size: NARROW,
    act: async (page) => {
      await menu('db-3', 'Edit')(page)
      await page.getByLabel('Disk (GB)').fill('20')
      await page.getByLabel('Name', { exact: true }).fill('web-12')
      await page.getByLabel('vCPUs').fill('many')
    },
  },
  { name: 'v16-clone', path: '/vms', scene: vmScene, act: menu('mail-1', 'Clone') },
  { name: 'v17-clone-not-now-dark', path: '/vms', scene: vmScene, dark: true, act: menu('db-3', 'Clone') },
  { name: 'v18-template', path: '/vms', scene: vmScene, act: menu('web-12', 'Save as template') },
  { name: 'v19-force-stop', path: '/vms', scene: vmScene, act: menu('sensor-hub', 'Stop by force') },
  { name: 'v20-delete-protected', path: '/vms', scene: vmScene, act: menu('web-12', 'Delete') },
  { name: 'v21-delete-silent-dark', path: '/vms', scene: vmScene, dark: true, act: menu('sensor-hub', 'Delete') },
  { name: 'v22-empty-templates', path: '/vms', scene: emptyWithHost, act: list },
  { name: 'v23-empty-templates-dark', path: '/vms', scene: emptyWithHost, dark: true, act: list },
  { name: 'v24-empty', path: '/vms', scene: emptyScene, act: list },
  {
    name: 'v25-stop-menu',
    path: '/vms',
    scene: vmScene,
    act: async (page, fleet) => {
      await vmPage('web-13')(page, fleet)
      await page.getByRole('button', { name: 'Other ways to stop' }).click()
    },
  },
  { name: 'v30-overview', path: '/vms', scene: vmScene, act: vmPage('web-12') },
  { name: 'v31-cloud-init', path: '/vms', scene: vmScene, act: vmPage('web-13', '/cloud-init') },
  { name: 'v32-disks', path: '/vms', scene: vmScene, act: vmPage('web-12', '/disks') },
  { name: 'v33-disks-clone-dark', path: '/vms', scene: vmScene, dark: true, act: vmPage('mail-1', '/disks') },
  { name: 'v34-trust', path: '/vms', scene: vmScene, act: vmPage('web-12', '/trust') },
  { name: 'v35-trust-dark', path: '/vms', scene: vmScene, dark: true, act: vmPage('web-13', '/trust') },
  { name: 'v36-activity', path: '/vms', scene: vmScene, act: vmPage('web-12', '/activity') },
  { name: 'v37-raw', path: '/vms', scene: vmScene, size: { width: 1280, height: 1000 }, act: vmPage('web-12', '/raw') },
  { name: 'v38-raw-dark', path: '/vms', scene: vmScene, dark: true, act: vmPage('web-12', '/raw') },
  { name: 'v39-raw-silent', path: '/vms', scene: vmScene, act: vmPage('sensor-hub', '/raw') },
  { name: 'v40-raw-narrow', path: '/vms', scene: vmScene, size: NARROW, act: vmPage('mail-1', '/raw') },
  {
    name: 'v41-raw-refused',
    path: '/vms',
    scene: vmScene,
    tolerates: /503/,
    act: async (page, fleet) => {
      fleet.commandFails = true
      await vmPage('web-12', '/raw')(page, fleet)
      await page.getByRole('alert').waitFor()
    },
  },
  { name: 'v42-trust-narrow', path: '/vms', scene: vmScene, size: NARROW, act: vmPage('web-13', '/trust') },
  {
    name: 'v43-stop-waits',
    path: '/vms',
    scene: vmScene,
    act: async (page, fleet) => {
      await vmPage('sensor-hub')(page, fleet)
      await page.getByRole('button', { name: 'Stop', exact: true }).click()
      await page.getByRole('button', { name: 'Take it back' }).waitFor()
    },
  },
]
