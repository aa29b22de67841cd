import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { aHost, aTask, at } from './rows.ts'
import { busyScene } from './scenes.ts'
import type { Shot } from './shot-list.ts'

const building = (now: number) =>
  aTask({
    kind: 'build_image',
    subject: 'tiny',
    state: 'running',
    createdAt: timestampFromMs(now - 45_000),
    steps: [
      { name: 'Read package list', state: 'done', startedAt: timestampFromMs(now - 44_000) },
      {
        name: 'Download packages',
        state: 'running',
        startedAt: timestampFromMs(now - 41_000),
        doneBytes: 12_000_000n,
        totalBytes: 43_000_000n,
      },
      { name: 'Build the image', state: 'waiting' },
    ] as never,
  })

/** A first host that has no KVM, and no image yet. */
const newcomer = (now: number, changes: object = {}) => {
  const local = aHost({
    ...{ name: 'this-computer', kind: 'local', address: '', runsAs: 'ada', vms: 0, lastSeenAt: at(now) },
    ...{ acceleration: 'tcg', allocated: { vcpus: 0, memMb: 0n, diskGb: 0n } },
    accelerationDetail: '/dev/kvm may not be opened by this user; adding it to the group kvm lets VMs run faster.',
    networks: [{ name: 'guests', kind: 'user', state: 'ready' }] as never,
  })
  return Object.assign(busyScene(now), { hosts: [local], vms: [], images: [], ports: [], tasks: [], ...changes })
}

const waiting = (now: number) => newcomer(now, { tasks: [building(now)] })
const narrow = { width: 720, height: 1200 }
const wide = { width: 1440, height: 900 }

const LOG = Array.from(
  { length: 400 },
  (_, i) => `[    ${(i / 10).toFixed(3)}] \x1b[32mstep ${i}\x1b[0m of the boot`,
).join('\r\n')
const readTheLog: NonNullable<Shot['act']> = async (page) => {
  await page.getByRole('link', { name: 'web-12' }).first().click()
  await page.getByRole('link', { name: 'Console', exact: true }).first().click()
  await page.getByRole('button', { name: 'Console actions' }).click()
  await page.getByRole('menuitem', { name: 'Read the log…' }).click()
  await page.getByRole('dialog').getByText('step 399 of the boot').waitFor()
  await page.getByRole('textbox', { name: 'Find' }).fill('step 39')
}

/** What a person sees who has not used it before. */
export const NEWCOMER_SHOTS: Shot[] = [
  { name: 'n1-waiting', path: '/vms/new', scene: waiting },
  { name: 'n1-waiting-dark', path: '/vms/new', scene: waiting, dark: true, size: wide },
  { name: 'n1-waiting-narrow', path: '/vms/new', scene: waiting, size: narrow },
  {
    name: 'n2-pressed',
    path: '/vms/new',
    scene: busyScene,
    act: async (page) => {
      await page.getByLabel('Name', { exact: true }).fill('')
      await page.getByRole('button', { name: /^Create/ }).click()
    },
  },
  {
    name: 'n3-read-log',
    path: '/vms',
    scene: busyScene,
    serial: LOG,
    act: readTheLog,
  },
  { name: 'n3-read-log-dark', path: '/vms', scene: busyScene, serial: LOG, dark: true, size: narrow, act: readTheLog },
  { name: 'n4-reader', path: '/settings/keys', scene: busyScene },
  {
    name: 'n5-pick-host',
    path: '/hosts/add',
    scene: busyScene,
    act: async (page) => {
      await page.getByRole('combobox', { name: 'Host' }).click()
      await page.getByRole('option').first().waitFor()
    },
  },
]
