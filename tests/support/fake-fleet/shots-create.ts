import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Page } from 'playwright-core'
import { aTask } from './rows.ts'
import { busyScene, emptyScene } from './scenes.ts'
import { BAD_USER_DATA } from './shot-acts.ts'
import type { Shot } from './shot-list.ts'

const GOOD = `## template: jinja
#cloud-config
# The web server of {{ v1.local_hostname }}.
packages:
  - nginx
write_files:
  - path: /etc/app.conf
    permissions: '0644'
    content: |
      name = {{ v1.local_hostname }}
      region = {{ v1.region | default('lab', true) }}
users:
  - default
  - name: ops
    sudo: ALL=(ALL) NOPASSWD:ALL
    ssh_authorized_keys:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0Xh3b8m2rQ7v5k9wQk ops@laptop
runcmd:
  - [systemctl, enable, --now, nginx]
`
const PLAIN = GOOD.slice(GOOD.indexOf('#cloud-config'))
  .replaceAll('{{ v1.local_hostname }}', 'web')
  .replace(/ {6}region.*\n/, '')

async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'cloud-init user-data' }).click()
  await page.keyboard.insertText(text)
  await page.waitForTimeout(400)
}

const tall = { width: 1280, height: 1500 }
const seen =
  (act?: Shot['act']): NonNullable<Shot['act']> =>
  async (page, fleet, consoles) => {
    await page.getByRole('textbox', { name: 'cloud-init user-data' }).waitFor()
    await act?.(page, fleet, consoles)
  }

const bad = seen(async (page) => {
  await write(page, BAD_USER_DATA)
  await page.getByRole('list', { name: 'Findings in the user-data' }).waitFor()
})
const form = seen(async (page) => {
  await write(page, PLAIN)
  await page.getByRole('button', { name: 'Form', exact: true }).click()
})

/** The create page and its editor. */
export const CREATE_SHOTS: Shot[] = [
  { name: '30-create', path: '/vms/new', scene: busyScene, act: seen() },
  { name: '30-create-dark', path: '/vms/new', scene: busyScene, dark: true, act: seen() },
  {
    name: '31-create-bad',
    path: '/vms/new',
    scene: busyScene,
    size: tall,
    act: seen(async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('$(id)')
      await page.getByLabel('Memory (MB)').fill('0')
      await page.getByLabel('SSH public keys').fill('not a key')
      await page.getByRole('button', { name: 'Add a port' }).click()
      await page.getByLabel('Port of the guest, row 1').fill('99999')
    }),
  },
  {
    name: '32-create-taken-dark',
    path: '/vms/new',
    scene: busyScene,
    dark: true,
    act: seen(async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('db-3')
      await page.getByRole('radio', { name: /^rack2-07/ }).check()
    }),
  },
  { name: '33-create-no-image', path: '/vms/new', scene: (now) => Object.assign(busyScene(now), { images: [] }) },
  { name: '34-create-user-data', path: '/vms/new', scene: busyScene, size: tall, act: bad },
  { name: '35-create-user-data-dark', path: '/vms/new', scene: busyScene, size: tall, dark: true, act: bad },
  {
    name: '36-create-template',
    path: '/vms/new',
    scene: busyScene,
    size: tall,
    act: seen((page) => write(page, GOOD)),
  },
  { name: '37-create-form', path: '/vms/new', scene: busyScene, size: { width: 1280, height: 1900 }, act: form },
  {
    name: '38-create-form-dark',
    path: '/vms/new',
    scene: busyScene,
    size: { width: 1280, height: 1900 },
    dark: true,
    act: form,
  },
  {
    name: '38-create-form-refused',
    path: '/vms/new',
    scene: busyScene,
    size: tall,
    act: seen(async (page) => {
      await write(page, '#cloud-config\npackages: [nginx]\n')
      await page.getByRole('button', { name: 'Form', exact: true }).click()
    }),
  },
  { name: '39-create-narrow', path: '/vms/new', scene: busyScene, size: { width: 720, height: 1400 }, act: bad },
]

const adding = (now: number) =>
  aTask({
    kind: 'add_image',
    subject: 'debian-13-amd64',
    steps: [
      {
        name: "Read the publisher's list of digests",
        state: 'done',
        detail: 'https://cloud.debian.org/images/cloud/trixie/latest/SHA512SUMS',
        startedAt: timestampFromMs(now - 9000),
        endedAt: timestampFromMs(now - 8600),
      },
      {
        name: 'Find the image in it',
        state: 'done',
        detail: 'debian-13-genericcloud-amd64.qcow2, SHA-512 4f1c9a22e0b7…',
        startedAt: timestampFromMs(now - 8600),
        endedAt: timestampFromMs(now - 8590),
      },
      {
        name: 'Download it and compare its SHA-512',
        state: 'running',
        startedAt: timestampFromMs(now - 8500),
        doneBytes: 121_000_000n,
        totalBytes: 345_000_000n,
      },
      { name: 'Add to catalogue', state: 'waiting' },
    ],
  })

/** The images page, its sheets and its drawer. */
export const IMAGE_SHOTS: Shot[] = [
  { name: '60-images', path: '/images', scene: busyScene },
  { name: '60-images-dark', path: '/images', scene: busyScene, dark: true },
  { name: '60-images-wide', path: '/images', scene: busyScene, size: { width: 1680, height: 800 } },
  { name: '60-images-narrow', path: '/images', scene: busyScene, size: { width: 720, height: 700 } },
  { name: '61-images-empty', path: '/images', scene: emptyScene },
  { name: '61-images-empty-dark', path: '/images', scene: emptyScene, dark: true },
  {
    name: '62-images-catalogue',
    path: '/images',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Add image' }).click()
      await page.getByRole('dialog').getByText('Ubuntu 24.04').first().waitFor()
    },
  },
  {
    name: '62-images-url-dark',
    path: '/images',
    scene: busyScene,
    dark: true,
    act: async (page) => {
      await page.getByRole('button', { name: 'Add image' }).click()
      await page.getByRole('button', { name: 'By address' }).click()
      await page.getByLabel('Name', { exact: true }).fill('debian-12')
      await page.getByLabel('Address').fill('ftp://example')
    },
  },
  {
    name: '63-images-adding',
    path: '/images',
    scene: busyScene,
    act: async (page, fleet) => {
      await page.getByRole('heading', { name: 'Images' }).waitFor()
      fleet.tell({ tasks: [adding(Date.now())] })
      await page.getByText('Download it and compare').first().waitFor()
    },
  },
  {
    name: '64-images-push',
    path: '/images',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for debian-12' }).click()
      await page.getByRole('menuitem', { name: 'Push to a host' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: '65-images-remove',
    path: '/images',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Actions for debian-12' }).click()
      await page.getByRole('menuitem', { name: 'Remove' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: '66-images-collect-dark',
    path: '/images',
    scene: busyScene,
    dark: true,
    act: async (page) => {
      await page.getByRole('button', { name: 'Clean up hosts' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: '67-images-drawer',
    path: '/images',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('row', { name: /debian-12/ }).click()
      await page.getByText('Every host checks its bytes').waitFor()
    },
  },
]
