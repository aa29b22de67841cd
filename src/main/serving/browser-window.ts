import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'microsoft-edge']
/** The link in the launch page works this long; after it the page is of no use. */
const LAUNCH_MS = 60_000

type Env = Readonly<Record<string, string | undefined>>

/** The browser to use, or one sentence why there is none. */
export function findBrowser(
  env: Env,
  platform: NodeJS.Platform = process.platform,
): { path: string } | { why: string } {
  if (platform === 'linux' && !env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return { why: 'There is no display here.' }
  const dirs = (env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '')
  const candidates = [env['CHROMIUM'] ?? '', ...BROWSERS.flatMap((name) => dirs.map((dir) => join(dir, name)))]
  const path = candidates.find((file) => file !== '' && executable(file))
  return path ? { path } : { why: 'There is no Chromium here.' }
}

function executable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A page only this user can read that leads to the link: a token must not be in any process's arguments. */
export async function writeLaunchPage(url: string): Promise<{ page: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'eitri-launch-'))
  const page = join(dir, 'launch.html')
  const script = `location.replace(${JSON.stringify(url).replaceAll('<', '\\u003c')})`
  await writeFile(page, `<!doctype html><meta charset="utf-8"><title>Eitri</title><script>${script}</script>\n`, {
    mode: 0o600,
  })
  return { page, remove: () => rm(dir, { recursive: true, force: true }) }
}

/** A window without tabs or address bar, of a profile of its own. */
export function windowArguments(page: string, profile: string): string[] {
  const quiet =
    'no-first-run no-default-browser-check disable-background-networking disable-component-update disable-sync'
  const args = [`--app=file://${page}`, `--user-data-dir=${profile}`, ...quiet.split(' ').map((flag) => `--${flag}`)]
  // Chromium refuses to start its sandbox as root.
  return [...args, '--window-size=1400,900', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])]
}

/** Opens an app window of its own profile and returns at once; the window outlives this process. Undefined, or why not. */
export async function openBrowserWindow(url: string, profile: string, env: Env): Promise<string | undefined> {
  const browser = findBrowser(env)
  if ('why' in browser) return browser.why
  const { page, remove } = await writeLaunchPage(url)
  const child = spawn(browser.path, windowArguments(page, profile), {
    detached: true,
    stdio: 'ignore',
    env: env as NodeJS.ProcessEnv,
  })
  const started = await new Promise<string | undefined>((resolve) => {
    child.once('spawn', () => resolve(undefined))
    child.once('error', (error) => resolve(`${browser.path} did not start (${error.message}).`))
  })
  child.unref()
  if (started === undefined) setTimeout(() => void remove(), LAUNCH_MS).unref()
  else await remove()
  return started
}
