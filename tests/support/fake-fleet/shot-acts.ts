import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Page } from 'playwright-core'
import { AuditEntrySchema } from '../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { FakeFleet } from './fake-fleet.ts'
import { aTask } from './rows.ts'

// What a picture is taken of: acts that bring a page there.
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

export function onboarding(now: number, at: number, change: object = {}) {
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

export const OLD_KEY = 'SHA256:3n4KvZqk8cXo9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz0'
export const NEW_KEY = 'SHA256:9wTt1bYpLr5mQeJd2uGhSaFiNxWcVz03n4KvZqk8cXo'

export async function showTask(page: Page, fleet: FakeFleet, task: ReturnType<typeof onboarding>) {
  fleet.tell({ tasks: [task] })
  await page.evaluate((id) => {
    location.hash = `#/hosts/add/${id}`
  }, task.id)
  await page.locator('ol[aria-label=Steps]').waitFor()
}

export const ask = (kind: object, at: number) => async (page: Page, fleet: FakeFleet) => {
  await showTask(page, fleet, onboarding(Date.now(), at, { state: 'asking', question: { id: 'q1', kind } }))
  await page.getByRole('dialog').waitFor()
}

export const vmPage =
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

export const openConsole = async (page: Page, fleet: FakeFleet) => {
  await vmPage('web-12', '/console')(page, fleet)
  await page.getByText('Live').waitFor()
  await page.waitForTimeout(400)
}

export const BAD_USER_DATA = `#cloud-config
hostname: web-13
package: [nginx]
write_files:
  - path: /etc/app.conf
    permissions: 0644
    content: |
      listen: 8080
runcmd:
  - systemctl enable app
  - echo status: ok > /etc/status
power_state:
  mode: poweroff
`
