import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { _electron, expect, test } from '@playwright/test'
import { findElectron } from '../../scripts/electron-path.ts'
import { endProcessesUnder } from '../support/eitri.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../support/ssh-host.ts'
import { AppPage } from './app-page.ts'
import { mainJourney } from './main-journey.ts'

const REPO = path.resolve(import.meta.dirname, '../..')
const electron = findElectron()

test.skip(
  !electron.ok,
  'no Electron binary is unpacked here; `findElectron` in scripts/electron-path.ts says where to get one',
)
test.skip(sshHostImpossible() !== undefined, sshHostImpossible() ?? '')
test.setTimeout(300_000)

let dir: string
let host: SshHost

test.beforeAll(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-electron-'))
  host = await startSshHost({ name: 'rack1' })
})
test.afterAll(async () => {
  if (dir) await endProcessesUnder(dir)
  await host?.close()
  if (dir) fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
})

/** The app as a checkout starts it, with a home and a data folder of its own. */
async function launch() {
  const runtime = path.join(dir, 'run')
  for (const made of [runtime, path.join(dir, '.ssh')]) fs.mkdirSync(made, { mode: 0o700 })
  const { PATH, LANG, DISPLAY, WAYLAND_DISPLAY } = process.env
  const given = { PATH, LANG, DISPLAY, WAYLAND_DISPLAY, HOME: dir, XDG_RUNTIME_DIR: runtime }
  const env = { ...given, EITRI_TEST: '1', EITRI_GUEST_NETWORK: 'user' }
  const noSandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return await _electron.launch({
    executablePath: electron.ok ? electron.path : '',
    args: [...noSandbox, REPO, '--data-dir', path.join(dir, 'data')],
    env: Object.fromEntries(Object.entries(env).filter((e): e is [string, string] => e[1] !== undefined)),
  })
}

test('the main path in the window of Electron itself', async () => {
  const app = await launch()
  try {
    const page = await app.firstWindow()
    expect(page.url()).toMatch(/^app:\/\/eitri\//)
    await mainJourney(new AppPage(page), host)
  } finally {
    await app.close()
  }
})
