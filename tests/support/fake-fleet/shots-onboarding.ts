import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Page } from 'playwright-core'
import { type Task, TaskCheckSchema, TaskFactSchema } from '../../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { hostScene } from './host-scene.ts'
import { emptyScene } from './scenes.ts'
import { NEW_KEY, OLD_KEY, onboarding, showTask } from './shot-acts.ts'
import type { Shot } from './shot-list.ts'

const check = (name: string, state: string, detail: string, command = '') =>
  create(TaskCheckSchema, { name, state, detail, command })
const fact = (name: string, value: string) => create(TaskFactSchema, { name, value })

/** An onboarding with everything its steps say. */
function told(at: number, change: object = {}): Task {
  const task = onboarding(Date.now(), at, change)
  const [, , key, sign, look, install] = task.steps
  if (key)
    key.detail = 'ssh-ed25519 SHA256:3n4K…, signed by a certificate authority of your known_hosts, so nothing is asked'
  if (sign) sign.log = ['ops@10.0.2.7', 'ssh-agent: 2 keys refused', 'key ~/.ssh/id_ed25519 refused']
  if (look && at >= 4)
    look.checks = [
      check('System', 'ok', 'Debian 12 · x86_64 · 6.1.0-21-amd64'),
      check(
        'Virtualisation',
        'note',
        '/dev/kvm is not readable by ops: VMs run many times slower until it is',
        'sudo usermod -aG kvm ops',
      ),
      check('Programs', 'ok', 'QEMU and qemu-img'),
      check('Disk', 'ok', '1310.0 GB free at /usr/local'),
      check('Service', 'ok', 'systemd starts the agent again after a reboot'),
      check('Ports', 'ok', 'none is opened: sshd stays the only door'),
    ]
  if (install && at >= 5) {
    install.facts = [
      fact('Agent', '0.1.0'),
      fact('Size', '43 MB sent, 118 MB on its disk'),
      fact('Path', '/usr/local/lib/eitri/0.1.0'),
      fact('Service', 'eitri-agent.service'),
      fact('Runs as', 'root'),
      fact('Checksum', 'SHA-256 9f2c4e7a1b6d8035c1f0e2a4b6d8f0a2c4e6f8a0b2d4f6a8c0e2f4a6b8d0f2a4'),
      fact('Undo', 'Remove host… takes it away again; by hand: sudo eitri-agent uninstall'),
    ]
    install.script = '# 1. The file is sent to a new folder.\nsha256sum plain\n./eitri-agent install --json --start'
  }
  return task
}

const form = (name: string) => async (page: Page) => {
  await page.getByLabel('Host', { exact: true }).fill(name)
  await page.keyboard.press('Tab')
  await page.getByRole('region', { name: 'How it is reached' }).waitFor()
}

const asks = (kind: object, at: number) => async (page: Page, fleet: Parameters<NonNullable<Shot['act']>>[1]) => {
  await showTask(page, fleet, told(at, { state: 'asking', question: { id: 'q1', kind } }))
  await page.getByRole('dialog').waitFor()
}

const newKey = { case: 'hostKey', value: { host: 'rack2-07', keyType: 'ssh-ed25519', fingerprint: OLD_KEY } }
const changedKey = {
  case: 'hostKey',
  value: {
    ...newKey.value,
    fingerprint: NEW_KEY,
    knownFingerprint: OLD_KEY,
    knownSince: timestampFromMs(Date.now() - 2e10),
  },
}
const at = { path: '/hosts', scene: emptyScene }

/** Adding a host: its form, its steps and each of its questions. */
export const ONBOARDING_SHOTS: Shot[] = [
  { name: 'h60-add-form', path: '/hosts/add', scene: hostScene, act: form('rack2-09') },
  { name: 'h60-add-form-dark', path: '/hosts/add', scene: hostScene, dark: true, act: form('rack2-09') },
  { name: 'h61-add-match-exec', path: '/hosts/add', scene: hostScene, act: form('exec-1') },
  { name: 'h62-add-config-broken-dark', path: '/hosts/add', scene: hostScene, dark: true, act: form('broken-1') },
  {
    name: 'h63-add-steps',
    ...at,
    size: { width: 1280, height: 1100 },
    act: (page, fleet) => showTask(page, fleet, told(5)),
  },
  {
    name: 'h64-add-failed',
    ...at,
    act: (page, fleet) => {
      const task = told(3, {
        state: 'failed',
        fault: {
          ...{ code: 'ssh/auth-refused', disposition: 'permanent', id: 'ab12' },
          params: { address: 'ops@10.0.2.7:22', methods: 'publickey, password' },
        },
      })
      task.steps[3]!.state = 'failed'
      return showTask(page, fleet, task)
    },
  },
  {
    name: 'h65-key-revoked-dark',
    ...at,
    dark: true,
    act: (page, fleet) => {
      const fault = { code: 'ssh/host-key-revoked', disposition: 'permanent', params: { host: 'rack2-07' }, id: 'ab13' }
      const task = told(2, { state: 'failed', fault })
      task.steps[2]!.state = 'failed'
      return showTask(page, fleet, task)
    },
  },
  { name: 'h66-key-new', ...at, act: asks(newKey, 2) },
  { name: 'h66-key-new-settled-dark', ...at, dark: true, settleMs: 1300, act: asks(newKey, 2) },
  { name: 'h67-key-changed', ...at, act: asks(changedKey, 2) },
  { name: 'h67-key-changed-dark', ...at, dark: true, act: asks(changedKey, 2) },
  {
    name: 'h68-secret',
    ...at,
    act: asks({ case: 'secret', value: { what: 'password', of: 'ops@rack2-07', problem: '' } }, 3),
  },
  {
    name: 'h69-code-dark',
    ...at,
    dark: true,
    act: asks(
      {
        case: 'prompt',
        value: { of: 'ops@rack2-07', instruction: 'Two-factor', prompt: 'Verification code:', echo: true },
      },
      3,
    ),
  },
  {
    name: 'h70-join',
    path: '/hosts/add',
    scene: hostScene,
    act: async (page) => {
      await page.getByRole('button', { name: 'Join by a blob' }).click()
      await page.getByRole('button', { name: 'Make the blob' }).click()
      await page.getByText('On the host, as root').waitFor()
    },
  },
  { name: 'h71-first-run', path: '/', scene: emptyScene },
  { name: 'h72-first-run-narrow-dark', path: '/', scene: emptyScene, dark: true, size: { width: 720, height: 700 } },
]
