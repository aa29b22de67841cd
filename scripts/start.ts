import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { runBrowserShell } from './browser-shell.ts'
import { buildApart, TARGETS } from './build.ts'
import { findElectron } from './electron-path.ts'
import { BROWSER_PARTS, ensureParts, VM_PARTS } from './parts.ts'
import { root } from './root.ts'
import { runSaid } from './waiting.mjs'

const FETCH_TIMEOUT_MS = 180_000
const FETCH_AGAIN_AFTER_MS = 24 * 3600 * 1000
const USAGE = `npm start -- [--browser | --electron] [--data-dir DIR]
  --browser    the browser shell, even where Electron is
  --electron   Electron or nothing`

function options() {
  try {
    const known = {
      browser: { type: 'boolean' },
      electron: { type: 'boolean' },
      help: { type: 'boolean' },
      'data-dir': { type: 'string' },
    } as const
    const { values } = parseArgs({ options: known })
    if (values.browser && values.electron) throw new Error('--browser and --electron exclude each other')
    return values
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    process.exit(2)
  }
}

/** Electron's binary; tried to fetch at most once a day, for a bounded time. */
async function electron(insist: boolean) {
  const found = findElectron()
  if (found.ok) return found
  const tried = join(root, 'out/electron-not-fetched')
  const recent = existsSync(tried) && Date.now() - statSync(tried).mtimeMs < FETCH_AGAIN_AFTER_MS
  if (recent && !insist) return found
  const install = join(root, 'node_modules/electron/install.js')
  const stdio = ['ignore', 'ignore', insist ? 2 : 'ignore'] as const
  const options = { cwd: root, stdio: [...stdio], timeout: FETCH_TIMEOUT_MS }
  await runSaid('Fetching the Electron binary', process.execPath, [install], options)
  const fetched = findElectron()
  if (!fetched.ok) {
    mkdirSync(dirname(tried), { recursive: true })
    writeFileSync(tried, '')
  }
  return fetched
}

/** Electron's binary, or undefined for the browser shell, said in one line. */
async function chooseShell(values: ReturnType<typeof options>): Promise<string | undefined> {
  if (values.browser) return undefined
  const found = await electron(values.electron ?? false)
  if (found.ok) return found.path
  console.error(`${values.electron ? 'Electron cannot be started' : 'Using the browser shell'}: ${found.reason}`)
  if (values.electron) process.exit(3)
  return undefined
}

function runElectron(path: string, dataDir: string | undefined): Promise<number> {
  // as root Chromium's sandbox does not start
  const noSandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const args = [...noSandbox, root, ...(dataDir === undefined ? [] : ['--data-dir', dataDir])]
  const child = spawn(path, args, { cwd: root, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`${path} could not be started: ${error.message}`)
      resolve(3)
    })
    child.on('exit', (code) => resolve(code ?? 1))
  })
}

const values = options()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const path = await chooseShell(values)
const display = process.env['DISPLAY'] || process.env['WAYLAND_DISPLAY']
await ensureParts([...VM_PARTS, ...(path === undefined && display ? BROWSER_PARTS : [])])
const notUsed = path === undefined ? ['electron', 'preload'] : []
const targets = TARGETS.filter((target) => !notUsed.includes(target))
await buildApart(targets)
const dataDir = values['data-dir']
process.exit(path === undefined ? await runBrowserShell(dataDir) : await runElectron(path, dataDir))
