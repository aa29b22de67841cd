import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, TARGETS } from './build.ts'
import { findElectron } from './electron-path.ts'
import { BROWSER_PARTS, ensureParts, VM_PARTS } from './parts.ts'
import { root } from './root.ts'

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
function electron(insist: boolean) {
  const found = findElectron()
  if (found.ok) return found
  const tried = join(root, 'out/electron-not-fetched')
  const recent = existsSync(tried) && Date.now() - statSync(tried).mtimeMs < FETCH_AGAIN_AFTER_MS
  if (recent && !insist) return found
  console.error('Fetching the Electron binary …')
  const install = join(root, 'node_modules/electron/install.js')
  const stdio = ['ignore', 'ignore', insist ? 2 : 'ignore'] as const
  spawnSync(process.execPath, [install], { cwd: root, stdio: [...stdio], timeout: FETCH_TIMEOUT_MS })
  const fetched = findElectron()
  if (!fetched.ok) {
    mkdirSync(dirname(tried), { recursive: true })
    writeFileSync(tried, '')
  }
  return fetched
}

function shell(values: ReturnType<typeof options>): { command: string; args: string[] } {
  const dataDir = values['data-dir'] === undefined ? [] : ['--data-dir', values['data-dir']]
  const browser = { command: process.execPath, args: [join(root, 'dist/main/serve.mjs'), '--open', ...dataDir] }
  if (values.browser) return browser
  const found = electron(values.electron ?? false)
  // as root Chromium's sandbox does not start
  const noSandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  if (found.ok) return { command: found.path, args: [...noSandbox, root, ...dataDir] }
  if (values.electron) {
    console.error(`Electron cannot be started: ${found.reason}`)
    process.exit(3)
  }
  console.error(`Using the browser shell: ${found.reason}`)
  return browser
}

const values = options()
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const { command, args } = shell(values)
const inBrowser = command === process.execPath
const display = process.env['DISPLAY'] || process.env['WAYLAND_DISPLAY']
await ensureParts([...VM_PARTS, ...(inBrowser && display ? BROWSER_PARTS : [])])
const notUsed = inBrowser ? ['electron', 'preload'] : []
await ensureBuilt(
  TARGETS.filter((target) => !notUsed.includes(target)),
  (target) => console.error(`Building ${target} …`),
)
const child = spawn(command, args, { cwd: root, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`${command} could not be started: ${error.message}`)
  process.exit(3)
})
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 130 : 1)))
