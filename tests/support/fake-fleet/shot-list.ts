import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Page } from 'playwright-core'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { FakeConsole } from './fake-console.ts'
import type { FakeFleet } from './fake-fleet.ts'
import { networkScene } from './network-scene.ts'
import { portScene } from './port-scene.ts'
import { busyScene, clockScene, emptyScene, sharedScene, wrongAppScene } from './scenes.ts'
import { BOOT_LOG } from './serial-text.ts'
import { ask, NEW_KEY, OLD_KEY, onboarding, openConsole, showTask, vmPage } from './shot-acts.ts'
import { CONSOLE_SHOTS } from './shots-consoles.ts'
import { CREATE_SHOTS, IMAGE_SHOTS } from './shots-create.ts'
import { ACTIVITY_SHOTS, FLEET_SHOTS, SETTINGS_SHOTS } from './shots-fleet.ts'
import { HOST_SHOTS } from './shots-hosts.ts'
import { METRICS_SHOTS } from './shots-metrics.ts'
import { NEWCOMER_SHOTS } from './shots-newcomer.ts'
import { ONBOARDING_SHOTS } from './shots-onboarding.ts'
import { SHELL_SHOTS } from './shots-shell.ts'
import { TRUST_SHOTS } from './shots-trust.ts'
import { VM_SHOTS } from './shots-vms.ts'

export interface Shot {
  name: string
  path: string
  scene: (now: number) => FleetState
  dark?: boolean
  size?: { width: number; height: number }
  serial?: string
  settleMs?: number
  /** What the page may complain of. */
  tolerates?: RegExp
  act?: (page: Page, fleet: FakeFleet, consoles: FakeConsole) => Promise<void>
}

export const SHOTS: Shot[] = [
  { name: '01-first-run', path: '/', scene: emptyScene },
  { name: '02-first-run-dark', path: '/', scene: emptyScene, dark: true },
  {
    name: '03-add-host-form',
    path: '/hosts/add',
    scene: emptyScene,
    act: async (page) => {
      await page.getByLabel('Host', { exact: true }).fill('ra')
    },
  },
  {
    name: '04-add-host-bad',
    path: '/hosts/add',
    scene: busyScene,
    act: async (page) => {
      await page.getByLabel('Host', { exact: true }).fill('-oProxyCommand=id')
      await page.getByLabel('Name here').fill('rack2-07')
    },
  },
  {
    name: '05-add-host-steps',
    path: '/hosts',
    scene: emptyScene,
    act: (page, fleet) => showTask(page, fleet, onboarding(Date.now(), 5)),
  },
  {
    name: '06-host-key-new',
    path: '/hosts',
    scene: emptyScene,
    act: ask({ case: 'hostKey', value: { host: 'rack2-07', keyType: 'ED25519', fingerprint: OLD_KEY } }, 2),
  },
  {
    name: '07-host-key-changed',
    path: '/hosts',
    scene: emptyScene,
    act: ask(
      {
        case: 'hostKey',
        value: {
          host: 'rack2-07',
          keyType: 'ED25519',
          fingerprint: NEW_KEY,
          knownFingerprint: OLD_KEY,
          knownSince: timestampFromMs(Date.now() - 2e10),
        },
      },
      2,
    ),
  },
  {
    name: '08-secret',
    path: '/hosts',
    scene: emptyScene,
    dark: true,
    act: ask(
      { case: 'secret', value: { what: 'password', of: 'ops@rack2-07', problem: 'That password was refused.' } },
      3,
    ),
  },
  {
    name: '09-packages',
    path: '/hosts',
    scene: emptyScene,
    act: ask(
      {
        case: 'packages',
        value: {
          missing: ['qemu-system-x86', 'qemu-utils'],
          command: 'sudo apt-get install -y qemu-system-x86 qemu-utils',
        },
      },
      4,
    ),
  },
  {
    name: '10-add-host-failed',
    path: '/hosts',
    scene: emptyScene,
    act: (page, fleet) => {
      const task = onboarding(Date.now(), 3, {
        state: 'failed',
        fault: {
          code: 'ssh/auth-refused',
          disposition: 'permanent',
          params: { address: 'ops@10.0.2.7:22', methods: 'publickey, password' },
          id: 'ab12',
        },
      })
      task.steps[3]!.state = 'failed'
      return showTask(page, fleet, task)
    },
  },
  { name: '11-hosts', path: '/hosts', scene: busyScene },
  { name: '12-hosts-dark', path: '/hosts', scene: busyScene, dark: true },
  { name: '16-hosts-wide', path: '/hosts', scene: busyScene, size: { width: 1680, height: 900 } },
  {
    name: '13-host-detail',
    path: '/hosts',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('link', { name: 'rack2-07' }).click()
    },
  },
  {
    name: '14-host-unreachable-dark',
    path: '/hosts',
    scene: busyScene,
    dark: true,
    act: async (page) => {
      await page.getByRole('link', { name: 'edge-1' }).click()
    },
  },
  {
    name: '15-remove-host',
    path: '/hosts',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for edge-1' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
    },
  },
  {
    name: '17-host-held',
    path: '/hosts',
    scene: sharedScene,
    act: async (page) => {
      await page.getByRole('link', { name: 'lab-9' }).click()
    },
  },
  { name: '18-hosts-held-wide', path: '/hosts', scene: sharedScene, size: { width: 1680, height: 900 } },
  {
    name: '19-take-over',
    path: '/hosts',
    scene: sharedScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for lab-9' }).click()
      await page.getByRole('menuitem', { name: 'Take over' }).click()
    },
  },
  {
    name: '06-take-over-new',
    path: '/hosts',
    scene: emptyScene,
    act: ask({ case: 'takeOver', value: { controllerName: 'ada-desk' } }, 4),
  },
  { name: '25-vms-shared', path: '/vms', scene: sharedScene, size: { width: 1680, height: 1000 } },
  { name: '20-vms', path: '/vms', scene: busyScene },
  { name: '21-vms-dark', path: '/vms', scene: busyScene, dark: true },
  {
    name: '22-vms-filter',
    path: '/vms',
    scene: busyScene,
    act: async (page) => {
      await page.getByLabel('Filter').fill('host:rack2 -state:running')
      await page.waitForTimeout(300)
    },
  },
  {
    name: '23-vms-menu',
    path: '/vms',
    scene: busyScene,
    act: (page) => page.getByRole('button', { name: 'Actions for db-3' }).click(),
  },
  { name: '24-vms-narrow', path: '/vms', scene: busyScene, size: { width: 760, height: 620 } },
  { name: '26-vms-wide', path: '/vms', scene: busyScene, size: { width: 1680, height: 900 } },
  { name: '25-no-vms', path: '/vms', scene: (now) => Object.assign(busyScene(now), { vms: [] }) },
  { name: '40-vm-overview', path: '/vms', scene: busyScene, act: vmPage('web-12') },
  { name: '41-vm-creating', path: '/vms', scene: busyScene, act: vmPage('ci-runner-7') },
  { name: '42-vm-failed-dark', path: '/vms', scene: busyScene, dark: true, act: vmPage('imported') },
  { name: '43-vm-unknown', path: '/vms', scene: busyScene, act: vmPage('sensor-hub') },
  { name: '44-vm-quarantine', path: '/vms', scene: busyScene, act: vmPage('old-ci') },
  { name: '48-vm-held', path: '/vms', scene: sharedScene, act: vmPage('shared-1') },
  { name: '49-vm-unowned', path: '/vms', scene: sharedScene, act: vmPage('stray', '/console') },
  {
    name: '49-vm-unowned-name-taken-dark',
    path: '/vms',
    scene: sharedScene,
    dark: true,
    act: async (page) => {
      await page.getByRole('button', { name: 'Adopt db-3' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  { name: '49-vm-by-url', path: '/vms', scene: sharedScene, act: vmPage('tiny-guest') },
  { name: '49-vm-retried', path: '/vms', scene: sharedScene, act: vmPage('retry') },
  {
    name: '45-delete-sheet',
    path: '/vms',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for db-3' }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
    },
  },
  {
    name: '46-deleted-undo',
    path: '/vms',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for db-3' }).click()
      await page.getByRole('menuitem', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Move to quarantine' }).click()
      await page.getByText('In quarantine').first().waitFor()
    },
  },
  {
    name: '47-purge-dark',
    path: '/vms',
    scene: busyScene,
    dark: true,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for old-ci' }).click()
      await page.getByRole('menuitem', { name: 'Destroy now' }).click()
      await page.getByRole('textbox').fill('old-ci')
    },
  },
  { name: '50-console', path: '/vms', scene: busyScene, serial: BOOT_LOG, act: openConsole },
  {
    name: '55-console-off',
    path: '/vms',
    scene: busyScene,
    serial: BOOT_LOG,
    act: async (page, fleet, consoles) => {
      consoles.link = 'stopped'
      await vmPage('mail-1', '/console')(page, fleet)
      await page.getByText('the VM is off').waitFor()
      await page.waitForTimeout(400)
    },
  },
  { name: '57-link-spent', path: 't=spent', scene: busyScene, tolerates: /status of 404/ },
  { name: '51-console-dark', path: '/vms', scene: busyScene, serial: BOOT_LOG, dark: true, act: openConsole },
  {
    name: '52-console-find',
    path: '/vms',
    scene: busyScene,
    serial: BOOT_LOG,
    act: async (page, fleet) => {
      await openConsole(page, fleet)
      await page.keyboard.press('Control+Shift+F')
      await page.getByRole('textbox', { name: 'Find in the console' }).fill('OK')
    },
  },
  {
    name: '53-console-paste',
    path: '/vms',
    scene: busyScene,
    serial: BOOT_LOG,
    act: async (page, fleet) => {
      await openConsole(page, fleet)
      await page.evaluate(() => navigator.clipboard.writeText('cd /tmp\nrm -rf build\n'))
      await page.keyboard.press('Control+Shift+V')
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: '54-console-lost',
    path: '/vms',
    scene: busyScene,
    serial: BOOT_LOG,
    settleMs: 100,
    act: async (page, fleet, consoles) => {
      await openConsole(page, fleet)
      consoles.cut()
      await page.getByText('text kept').waitFor()
    },
  },
  {
    name: '56-feed-lost',
    path: '/vms',
    scene: busyScene,
    act: async (page, fleet) => {
      await page.getByRole('heading', { name: 'VMs' }).waitFor()
      fleet.goDown()
      await page.getByText('has not answered since').waitFor()
    },
  },
  {
    name: '70-activity',
    path: '/activity',
    scene: busyScene,
    act: async (page, fleet) => {
      await vmPage('web-12')(page, fleet)
      fleet.tell({ tasks: [onboarding(Date.now(), 5)] })
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Activity' }).click()
    },
  },
  {
    name: '71-palette',
    path: '/vms',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('heading', { name: 'VMs' }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByPlaceholder('Go to').fill('we')
    },
  },
  {
    name: '72-keys-dark',
    path: '/vms',
    scene: busyScene,
    dark: true,
    act: async (page) => {
      await page.getByRole('heading', { name: 'VMs' }).waitFor()
      await page.keyboard.press('?')
    },
  },
  {
    name: '80-clock',
    path: '/vms',
    scene: clockScene,
    act: async (page) => {
      await page.getByRole('heading', { name: 'VMs' }).waitFor()
      await page.keyboard.press('g')
      await page.keyboard.press('k')
      await page.getByRole('heading', { name: 'Clock' }).waitFor()
      await page.keyboard.press('j')
    },
  },
  { name: '81-clock-dark', path: '/clock', scene: clockScene, dark: true, size: { width: 1680, height: 900 } },
  { name: '82-clock-app-wrong', path: '/clock', scene: wrongAppScene },
  { name: '83-clock-empty', path: '/clock', scene: emptyScene },
  {
    name: '84-clock-narrow',
    path: '/clock',
    scene: clockScene,
    size: { width: 640, height: 800 },
    act: (page) => page.getByText('What breaks at which offset').click(),
  },
  { name: '85-vm-clock', path: '/vms', scene: clockScene, act: vmPage('db-3', '/clock') },
  { name: '86-vm-clock-dark', path: '/vms', scene: clockScene, dark: true, act: vmPage('db-3', '/clock') },
  { name: '87-vm-clock-unreported', path: '/vms', scene: clockScene, act: vmPage('play', '/clock') },
  { name: '88-vm-cloud-init', path: '/vms', scene: clockScene, act: vmPage('web-13', '/cloud-init') },
  {
    name: '88-vm-cloud-init-zoomed',
    path: '/vms',
    scene: clockScene,
    size: { width: 640, height: 400 },
    act: vmPage('web-13', '/cloud-init'),
  },
  { name: '89-vm-cloud-init-dark', path: '/vms', scene: clockScene, dark: true, act: vmPage('db-3', '/cloud-init') },
  { name: '90-vm-guest-trouble', path: '/vms', scene: clockScene, act: vmPage('web-13') },
  {
    name: '91-host-clock',
    path: '/hosts',
    scene: wrongAppScene,
    act: async (page) => {
      await page.getByRole('link', { name: 'rack2-08' }).click()
    },
  },
  {
    name: '92-clock-set',
    path: '/clock',
    scene: clockScene,
    act: async (page) => {
      await page.getByRole('status').getByRole('button', { name: 'Re-sync' }).click()
      await page.getByText('Clock of db-3').waitFor()
    },
  },
  {
    name: '93-create-policy',
    path: '/vms/new',
    scene: busyScene,
    act: async (page) => {
      await page.getByText('Advanced').click()
      await page.getByLabel('Who keeps its clock').selectOption('host-only')
      await page.getByText('taken away').scrollIntoViewIfNeeded()
    },
  },
  { name: 'a0-ports', path: '/ports', scene: portScene },
  { name: 'a1-ports-dark', path: '/ports', scene: portScene, dark: true },
  { name: 'a2-ports-none', path: '/ports', scene: busyScene },
  {
    name: 'a3-port-taken',
    path: '/ports',
    scene: portScene,
    tolerates: /409/,
    act: async (page) => {
      await page.getByRole('button', { name: 'Publish a port' }).waitFor()
      await page.keyboard.press('p')
      await page.getByLabel('VM', { exact: true }).fill('web-12')
      await page.getByLabel('Port in the guest').fill('443')
      await page.getByLabel('Port on the host').fill('8443')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Use 8444' }).waitFor()
    },
  },
  { name: 'a4-vm-ports', path: '/vms', scene: portScene, act: vmPage('web-12', '/ports') },
  {
    name: 'a5-vm-ports-narrow-dark',
    path: '/vms',
    scene: portScene,
    dark: true,
    size: { width: 760, height: 700 },
    act: vmPage('web-12', '/ports'),
  },
  { name: 'n0-create-second-card', path: '/vms/new', scene: networkScene, size: { width: 1280, height: 1000 } },
  { name: 'n1-networks', path: '/networks', scene: networkScene, size: { width: 1280, height: 1100 } },
  { name: 'n2-networks-dark', path: '/networks', scene: networkScene, dark: true },
  { name: 'n3-networks-none', path: '/networks', scene: emptyScene },
  { name: 'n4-networks-narrow', path: '/networks', scene: networkScene, size: { width: 760, height: 900 } },
  {
    name: 'n5-network-mended',
    path: '/networks',
    scene: networkScene,
    act: (page) => page.getByRole('button', { name: 'Mend', exact: true }).click(),
  },
  ...CREATE_SHOTS,
  ...IMAGE_SHOTS,
  ...FLEET_SHOTS,
  ...SETTINGS_SHOTS,
  ...ACTIVITY_SHOTS,
  ...METRICS_SHOTS,
  ...NEWCOMER_SHOTS,
  ...CONSOLE_SHOTS,
  ...HOST_SHOTS,
  ...ONBOARDING_SHOTS,
  ...SHELL_SHOTS,
  ...VM_SHOTS,
  ...TRUST_SHOTS,
]
