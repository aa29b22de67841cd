// Starts the project's programs from a checkout. Uses no packages: it runs on the system's Node, puts the project's own
// Node 24 and packages in place when they are missing or the lock changed, and goes on under that Node.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeLock } from './lock.mjs'
import { runSaid } from './waiting.mjs'

const PROGRAMS = {
  start: 'scripts/start.ts',
  test: 'scripts/test.ts',
  eitri: 'scripts/eitri.ts',
  agent: 'scripts/agent.ts',
  bench: 'tests/bench/bench.ts',
  soak: 'tests/soak/soak.ts',
  build: 'scripts/build.ts',
  screens: 'scripts/screens.ts',
}
const MIN_NODE = 20
const LOCK_WAIT_MS = 600_000
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const [program, ...args] = process.argv.slice(2)

function stop(code, sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(code)
}

function checkMachine() {
  if (!Object.hasOwn(PROGRAMS, program ?? ''))
    stop(2, `Usage: node scripts/run.mjs ${Object.keys(PROGRAMS).join('|')} [arguments]`)
  const major = Number(process.versions.node.split('.')[0])
  if (major < MIN_NODE)
    stop(
      3,
      `Node ${process.versions.node} is too old to start Eitri: install Node ${MIN_NODE} or newer and run this again.`,
    )
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch))
    stop(
      3,
      `Eitri runs from a checkout on Linux x86_64 and arm64; this is ${process.platform} ${process.arch}. Use such a machine, or reach one over SSH.`,
    )
}

const projectNode = () => join(root, `node_modules/node-linux-${process.arch}/bin/node`)
const stampFile = () => join(root, 'node_modules/.eitri-lock')
const lockDigest = () =>
  createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')

function installed() {
  return (
    existsSync(projectNode()) && existsSync(stampFile()) && readFileSync(stampFile(), 'utf8').trim() === lockDigest()
  )
}

// `out/` and not node_modules: npm removes the latter while the lock is held.
async function withInstallLock(run) {
  const release = takeInstallLock()
  try {
    await run()
  } finally {
    release()
  }
}

function takeInstallLock() {
  try {
    return takeLock(join(root, 'out/install.lock'), LOCK_WAIT_MS)
  } catch (error) {
    return stop(1, `${error.message}. It is installing packages; end it and try again.`)
  }
}

// How many packages are there; npm makes their folders first and fills them then.
function packagesThere() {
  const names = Object.keys(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages ?? {}).filter(
    Boolean,
  )
  return () => {
    const there = names.filter((name) => existsSync(join(root, name, 'package.json'))).length
    return names.length > 0 ? `${there} of at most ${names.length} packages` : ''
  }
}

async function install() {
  if (installed()) return
  const npmCli = process.env['npm_execpath']
  const [command, prefix] = npmCli?.endsWith('.js') ? [process.execPath, [npmCli]] : ['npm', []]
  const argv = [...prefix, 'ci', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: root, stdio: ['ignore', 2, 2] }
  const there = packagesThere()
  const ci = (what) => runSaid(what, command, argv, options, there)
  const first = await ci('Installing packages with npm ci')
  // a cold cache meets a registry that stumbles now and then
  const { status, error } = first.status === 0 ? first : await ci('Installing packages with npm ci, once more')
  if (error) stop(3, `npm could not be started (${error.message}): install npm and run this again.`)
  if (status !== 0) stop(1, 'npm ci failed; nothing was started. Its reason stands above.')
  if (!existsSync(projectNode()))
    stop(
      3,
      `npm did not install node-linux-${process.arch}; optional packages must not be left out (check "npm config get omit").`,
    )
  writeFileSync(stampFile(), `${lockDigest()}\n`)
}

function run() {
  const bin = join(root, 'node_modules/.bin')
  const target = join(root, PROGRAMS[program])
  if (!existsSync(target)) stop(3, `${PROGRAMS[program]} is missing from this checkout.`)
  const child = spawn(projectNode(), ['--disable-warning=ExperimentalWarning', target, ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => stop(3, `${projectNode()} could not be started: ${error.message}`))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

checkMachine()
if (!installed()) await withInstallLock(install)
run()
