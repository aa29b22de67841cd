import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'microsoft-edge']

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

/** A page only this user can read that leads to the link: a token must not be in any process's arguments. The next one replaces it. */
export async function writeLaunchPage(dir: string, url: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const page = join(dir, 'launch.html')
  const script = `location.replace(${JSON.stringify(url).replaceAll('<', '\\u003c')})`
  const html = `<!doctype html><meta charset="utf-8"><title>Eitri</title><script>${script}</script>\n`
  await writeFile(`${page}.new`, html, { mode: 0o600 })
  await rename(`${page}.new`, page)
  return page
}

/** A window without tabs or address bar, of a profile of its own under `dir`. */
export function windowArguments(page: string, dir: string): string[] {
  const quiet =
    'no-first-run no-default-browser-check disable-background-networking disable-component-update disable-sync'
  const args = [`--app=file://${page}`, `--user-data-dir=${join(dir, 'profile')}`, '--window-size=1400,900']
  // Chromium refuses to start its sandbox as root.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return [...args, ...quiet.split(' ').map((flag) => `--${flag}`), ...sandbox]
}

/** Opens an app window of a profile of its own under `dir` and returns at once; the window outlives this process. Undefined, or why not. */
export async function openBrowserWindow(url: string, dir: string, env: Env): Promise<string | undefined> {
  const browser = findBrowser(env)
  if ('why' in browser) return browser.why
  const page = await writeLaunchPage(dir, url)
  const child = spawn(browser.path, windowArguments(page, dir), {
    detached: true,
    stdio: 'ignore',
    env: env as NodeJS.ProcessEnv,
  })
  const failed = await new Promise<string | undefined>((resolve) => {
    child.once('spawn', () => resolve(undefined))
    child.once('error', (error) => resolve(`${browser.path} did not start (${error.message}).`))
  })
  child.unref()
  return failed
}
