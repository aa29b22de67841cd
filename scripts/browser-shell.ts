import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readlinkSync, rmSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { controlPaths } from '../src/main/control/node-ports.ts'
import { findBrowser, windowArguments, writeLaunchPage } from '../src/main/serving/browser-window.ts'
import { root } from './root.ts'

/** The link works this long; then its page goes. */
const LINK_MS = 60_000
const STOP_TIMEOUT_MS = 10_000
const HAND_OVER_MS = 10_000
const WINDOW_OPENS = 'The window opens. Closing it ends this program; VMs and the agent of this computer go on.'

interface Ready {
  attached: boolean
  url: string
}

const signalled = () =>
  new Promise<number>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve(0))
  })

/**
 * Starts a control plane, or attaches to the one that runs, and opens its window. Closing the window stops what was started
 * here; VMs and the local agent go on. Answers an exit code.
 */
export async function runBrowserShell(dataDir: string | undefined): Promise<number> {
  const args = ['--listen', '127.0.0.1:0', '--ready-json', ...(dataDir === undefined ? [] : ['--data-dir', dataDir])]
  const control = spawn(process.execPath, [join(root, 'dist/main/serve.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const stopped = signalled()
  const ended = once(control, 'exit').then(([code]) => Number(code ?? 1))
  const ready = await Promise.race([readyLine(control), ended.then((code) => code || never()), stopped])
  if (typeof ready === 'number') {
    await stopControl(control)
    return ready
  }
  const closed = openWindow(ready, join(controlPaths({ dataDir }).dataDir, 'browser'), stopped)
  if (ready.attached) return closed
  const code = await Promise.race([closed, ended, stopped])
  await stopControl(control)
  return code
}

const never = () => new Promise<never>(() => {})

async function readyLine(control: ChildProcess): Promise<Ready> {
  for await (const line of createInterface({ input: control.stdout as NodeJS.ReadableStream }))
    return JSON.parse(line) as Ready
  return never()
}

/** Resolves when the window was closed. */
async function openWindow({ url, attached }: Ready, dir: string, stopped: Promise<number>): Promise<number> {
  const browser = findBrowser(process.env)
  if ('why' in browser) {
    const { port } = new URL(url)
    if (attached) console.log('Eitri runs already; this link is one more window of it.')
    console.log(`${browser.why} Open within ${LINK_MS / 1000} s, once: ${url}`)
    console.log(`From another machine first: ssh -L ${port}:127.0.0.1:${port} ${userInfo().username}@${hostname()}`)
    if (attached) return 0
    console.log('Ctrl-C here stops the control plane; VMs go on.')
    return never()
  }
  const page = await writeLaunchPage(dir, url)
  const taken = profileTaken(join(dir, 'profile'))
  const child = spawn(browser.path, windowArguments(page, dir), { stdio: 'ignore', detached: true })
  const late = globalThis.setTimeout(() => rmSync(page, { force: true }), LINK_MS)
  child.once('spawn', () => console.log(attached ? 'The window opens.' : WINDOW_OPENS))
  try {
    await Promise.race([once(child, 'exit'), stopped.then(() => child.kill())])
    // the window went to the Chromium that had the profile, and nothing here sees it close
    if (!attached && taken) await stopped
    // it has yet to read the page that is taken away below
    if (attached && taken) await Promise.race([setTimeout(HAND_OVER_MS), stopped])
    return 0
  } catch (error) {
    console.error(`${browser.path} could not be started: ${(error as Error).message}`)
    return 3
  } finally {
    clearTimeout(late)
    rmSync(page, { force: true })
  }
}

/** Whether a Chromium runs with this profile: its lock is a link to `<host name>-<pid>`. */
function profileTaken(profile: string): boolean {
  try {
    process.kill(Number(readlinkSync(join(profile, 'SingletonLock')).split('-').at(-1)), 0)
    return true
  } catch {
    return false
  }
}

async function stopControl(control: ChildProcess): Promise<void> {
  if (control.exitCode !== null || control.signalCode !== null) return
  const gone = once(control, 'exit')
  control.kill('SIGTERM')
  const late = globalThis.setTimeout(() => control.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await gone
  clearTimeout(late)
}
