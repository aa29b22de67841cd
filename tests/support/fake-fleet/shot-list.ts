import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Page } from 'playwright-core'
import { AuditEntrySchema } from '../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import type { FakeConsole } from './fake-console.ts'
import type { FakeFleet } from './fake-fleet.ts'
import { aTask } from './rows.ts'
import { busyScene, emptyScene } from './scenes.ts'
import { BOOT_LOG } from './serial-text.ts'

export interface Shot {
  name: string
  path: string
  scene: (now: number) => FleetState
  dark?: boolean
  size?: { width: number; height: number }
  serial?: string
  settleMs?: number
  act?: (page: Page, fleet: FakeFleet, consoles: FakeConsole) => Promise<void>
}

const STEPS = [
  'Read config',
  'Reach address',
  'Check host key',
  'Sign in',
  'Look at host',
  'Install agent',
  'Start agent',
  'First report',
]
const DETAIL = [
  '10.0.2.7 · port 22 · user ops · key ~/.ssh/id_ed25519',
  'answered in 12 ms, OpenSSH 9.2',
  'ED25519 accepted by you',
  'ssh-agent, ED25519 ada@laptop',
  'Debian 12 · x86_64 · systemd · /dev/kvm runs · 1.3 TB free',
  'eitri-agent 0.1.0 to /usr/local/lib/eitri/0.1.0',
]

function onboarding(now: number, at: number, change: object = {}) {
  return aTask({
    subject: 'rack2-07',
    createdAt: timestampFromMs(now - 14_000),
    steps: STEPS.map((name, i) => ({
      name,
      state: i < at ? 'done' : i === at ? 'running' : 'waiting',
      detail: i <= at ? (DETAIL[i] ?? '') : '',
      ...(i <= at ? { startedAt: timestampFromMs(now - 12_000 + i * 1300) } : {}),
      ...(i < at ? { endedAt: timestampFromMs(now - 12_000 + i * 1300 + [90, 240, 3100, 700, 1900][i]!) } : {}),
      ...(i === at && i === 5 ? { doneBytes: 18_400_000n, totalBytes: 43_500_000n } : {}),
    })),
    ...change,
  })
}

const OLD_KEY = 'SHA256:3n4KvZqk8cXo9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz0'
const NEW_KEY = 'SHA256:9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz03n4KvZqk8cXo'

async function showTask(page: Page, fleet: FakeFleet, task: ReturnType<typeof onboarding>) {
  fleet.tell({ tasks: [task] })
  await page.evaluate((id) => {
    location.hash = `#/hosts/add/${id}`
  }, task.id)
  await page.locator('ol[aria-label=Steps]').waitFor()
}

const ask = (kind: object, at: number) => async (page: Page, fleet: FakeFleet) => {
  await showTask(page, fleet, onboarding(Date.now(), at, { state: 'asking', question: { id: 'q1', kind } }))
  await page.getByRole('dialog').waitFor()
}

const vmPage =
  (name: string, tab = '') =>
  async (page: Page, fleet: FakeFleet) => {
    const now = Date.now()
    const vm = fleet.vm(name)
    fleet.audit = ['vm.start', 'vm.stop', 'vm.create'].map((action, i) =>
      create(AuditEntrySchema, {
        id: String(i),
        at: timestampFromMs(now - (i + 1) * 4_000_000),
        action,
        vmId: vm.id,
        hostId: vm.hostId,
        detail: { name },
      }),
    )
    await page.evaluate((hash) => {
      location.hash = hash
    }, `#/vms/${vm.id}${tab}`)
    await page.getByRole('heading', { name }).waitFor()
  }

const openConsole = async (page: Page, fleet: FakeFleet) => {
  await vmPage('web-12', '/console')(page, fleet)
  await page.getByText('Live').waitFor()
  await page.waitForTimeout(400)
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
  { name: '30-create', path: '/vms/new', scene: busyScene },
  {
    name: '31-create-bad',
    path: '/vms/new',
    scene: busyScene,
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('$(id)')
      await page.getByLabel('Memory (MB)').fill('0')
      await page.getByLabel('SSH public keys').fill('not a key')
      await page.getByLabel('cloud-init user-data').fill('#cloud-config\nwrite_files:\n  - path: /etc/a\n content: x')
    },
  },
  {
    name: '32-create-taken-dark',
    path: '/vms/new',
    scene: busyScene,
    dark: true,
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('db-3')
      await page.getByLabel('Host', { exact: true }).selectOption({ label: 'rack2-07' })
    },
  },
  { name: '40-vm-overview', path: '/vms', scene: busyScene, act: vmPage('web-12') },
  { name: '41-vm-creating', path: '/vms', scene: busyScene, act: vmPage('ci-runner-7') },
  { name: '42-vm-failed-dark', path: '/vms', scene: busyScene, dark: true, act: vmPage('imported') },
  { name: '43-vm-unknown', path: '/vms', scene: busyScene, act: vmPage('sensor-hub') },
  { name: '44-vm-quarantine', path: '/vms', scene: busyScene, act: vmPage('old-ci') },
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
  { name: '33-create-no-image', path: '/vms/new', scene: (now) => Object.assign(busyScene(now), { images: [] }) },
  { name: '60-images', path: '/images', scene: busyScene },
  { name: '61-images-empty', path: '/images', scene: emptyScene, dark: true },
  {
    name: '62-add-image',
    path: '/images',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Add image' }).click()
      await page.getByRole('textbox', { name: 'URL' }).fill('ftp://example.test/image')
      await page.getByRole('textbox', { name: 'SHA-256' }).fill('12ab')
    },
  },
  {
    name: '70-activity',
    path: '/activity',
    scene: busyScene,
    act: async (page, fleet) => {
      await vmPage('web-12')(page, fleet)
      fleet.tell({ tasks: [onboarding(Date.now(), 5)] })
      await page.getByRole('link', { name: 'Activity' }).click()
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
]
