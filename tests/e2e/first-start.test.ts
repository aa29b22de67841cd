import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Browser, chromium, expect, test } from '@playwright/test'
import { cloneCheckout } from '../support/clone.ts'
import { endProcessesUnder } from '../support/eitri.ts'
import { AppPage } from './app-page.ts'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const START_TIMEOUT_MS = 150_000
const END_TIMEOUT_MS = 20_000

test.setTimeout(240_000)

let dir: string
let clone: Awaited<ReturnType<typeof cloneCheckout>> | undefined
let screen: ChildProcess | undefined
let display: string
let started: ChildProcess | undefined

test.beforeAll(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-start-'))
  clone = await cloneCheckout()
  screen = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1400x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  })
  const [number] = await once(screen.stdio[3]!, 'data', { signal: AbortSignal.timeout(10_000) })
  display = `:${String(number).trim()}`
})
test.afterAll(async () => {
  started?.kill('SIGTERM')
  await endProcessesUnder(dir)
  if (clone) await endProcessesUnder(clone.dir)
  screen?.kill('SIGTERM')
  clone?.remove()
  fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
})

/** `npm start` as a person types it; the browser it finds also opens a debugging port. */
function npmStart(): ChildProcess {
  const browser = path.join(dir, 'chromium')
  const flags = '--remote-debugging-port=0 --use-angle=swiftshader --enable-unsafe-swiftshader'
  fs.writeFileSync(browser, `#!/bin/sh\nexec ${CHROMIUM} ${flags} "$@"\n`, { mode: 0o755 })
  const runtime = path.join(dir, 'run')
  fs.mkdirSync(runtime, { mode: 0o700 })
  const { PATH, LANG } = process.env
  return spawn('npm', ['start', '--', '--browser'], {
    cwd: clone!.dir,
    env: {
      PATH,
      LANG,
      HOME: dir,
      XDG_RUNTIME_DIR: runtime,
      DISPLAY: display,
      CHROMIUM: browser,
      EITRI_GUEST_NETWORK: 'user',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

/** The browser behind the window, once it said on which port it listens. */
async function attach(): Promise<Browser> {
  let port = ''
  const find = () => {
    const files = fs.readdirSync(dir, { recursive: true, encoding: 'utf8' })
    const file = files.find((f) => f.endsWith('/DevToolsActivePort'))
    port = file ? fs.readFileSync(path.join(dir, file), 'utf8').split('\n')[0]! : ''
    return port
  }
  await expect.poll(find, { timeout: START_TIMEOUT_MS }).toMatch(/^\d+$/)
  return chromium.connectOverCDP(`http://127.0.0.1:${port}`)
}

test('npm start builds a clone, opens a window on the first screen, and ends with it', async () => {
  const program = npmStart()
  started = program
  const browser = await attach()
  const page = browser.contexts()[0]!.pages()[0]!
  const app = new AppPage(page)
  await expect(page.getByRole('heading', { name: /Run virtual machines/ })).toBeVisible({ timeout: 30_000 })
  await expect(app.button(/^Use this computer/)).toBeVisible()

  await app.link(/^Add a host over SSH/).click()
  await page.getByLabel('Host', { exact: true }).fill('$(id)')
  await expect(app.button('Add host')).toBeDisabled()
  await page.goBack()

  await app.button(/^Use this computer/).click()
  await expect(page.getByText('1 of 1 host connected', { exact: true })).toBeVisible({ timeout: 60_000 })
  expect(app.complaints).toEqual([])

  const ended = once(program, 'exit', { signal: AbortSignal.timeout(END_TIMEOUT_MS) })
  await page.close()
  expect(await ended).toEqual([0, null])
})
