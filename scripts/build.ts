import { spawn } from 'node:child_process'
import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './root.ts'
import { ifStale, withBuildLock } from './stale.ts'

export const TARGETS = ['main', 'electron', 'preload', 'renderer', 'assets', 'agent', 'sea'] as const
export type Target = (typeof TARGETS)[number]

const TOOLS = ['package-lock.json', 'scripts/bundles.ts', 'scripts/build.ts']

/** Paths under the project whose change makes a target stale. */
const INPUTS: Record<Target, string[]> = {
  main: ['src/ipc', 'src/main', ...TOOLS],
  electron: ['src/ipc', 'src/main', ...TOOLS],
  preload: ['src/ipc', 'src/main/shell', ...TOOLS],
  renderer: ['src/ipc', 'src/renderer', 'vite.config.ts', 'package-lock.json'],
  assets: ['assets'],
  agent: ['src/ipc', 'src/agent', ...TOOLS],
  sea: ['src/ipc', 'src/agent', 'scripts/sea.ts', ...TOOLS],
}

/** What a person reads while it is built. */
const SAID: Record<Target, string> = {
  main: 'the control plane and the command line',
  electron: 'the Electron shell',
  preload: "the Electron shell's preload",
  renderer: 'the pages',
  assets: 'the assets',
  agent: 'the agent',
  sea: "the agent's executable, with Node inside",
}

const OUTPUT: Record<Target, string> = {
  main: 'dist/main/serve.mjs',
  electron: 'dist/main/index.mjs',
  preload: 'dist/preload/preload.cjs',
  renderer: 'dist/renderer/index.html',
  assets: 'dist/assets',
  agent: 'dist/agent/agent.cjs',
  sea: `dist/agent/eitri-agent-linux-${process.arch}.gz`,
}

// A start with nothing stale must not wait for the build tools to load.
const bundles = () => import('./bundles.ts')

const RUN: Record<Target, () => Promise<void>> = {
  main: async () => (await bundles()).bundlePlain(),
  electron: async () => (await bundles()).bundleElectron(),
  preload: async () => (await bundles()).bundlePreload(),
  renderer: buildRenderer,
  assets: copyAssets,
  agent: async () => {
    const { bundleAgent, writeAgentManifest } = await bundles()
    await bundleAgent()
    await writeAgentManifest()
  },
  sea: async () => {
    const { buildExecutable } = await import('./sea.ts')
    await buildExecutable()
    await (await bundles()).writeAgentManifest()
  },
}

async function buildRenderer(): Promise<void> {
  const { build } = await import('vite')
  await build({ root: join(root, 'src/renderer'), configFile: join(root, 'vite.config.ts'), logLevel: 'warn' })
}

async function copyAssets(): Promise<void> {
  const next = join(root, 'dist/assets.new')
  await rm(next, { recursive: true, force: true })
  await cp(join(root, 'assets'), next, { recursive: true })
  await rm(join(root, 'dist/assets'), { recursive: true, force: true })
  await rename(next, join(root, 'dist/assets'))
}

const isStale = (target: Target) => ifStale(target, INPUTS[target], OUTPUT[target]).stale

/**
 * Builds what is stale in a process of its own: what the build tools hold, a gigabyte after a first build, must not stay for
 * as long as a window or a control plane does. A failed build ends this process.
 */
export async function buildApart(targets: readonly Target[]): Promise<void> {
  if (!targets.some(isStale)) return
  const flags = ['--disable-warning=ExperimentalWarning', join(root, 'scripts/build.ts')]
  const child = spawn(process.execPath, [...flags, ...targets], { stdio: ['ignore', 'ignore', 2] })
  const end = (signal: NodeJS.Signals) => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, end)
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (status) => resolve(status ?? 1))
  })
  for (const signal of signals) process.off(signal, end)
  if (code !== 0) process.exit(code)
}

/** Builds what is stale; `say` hears the name of each target built. One process builds at a time. */
export async function ensureBuilt(
  targets: readonly Target[],
  say: (target: Target) => void,
  force = false,
): Promise<void> {
  const stale = () => targets.filter((target) => force || isStale(target))
  if (stale().length === 0) return
  await withBuildLock(async () => {
    for (const target of stale()) {
      const { markFresh } = ifStale(target, INPUTS[target], OUTPUT[target])
      say(target)
      await RUN[target]()
      markFresh()
    }
  })
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { force: { type: 'boolean' } } })
  const unknown = positionals.filter((name) => !(TARGETS as readonly string[]).includes(name))
  if (unknown.length > 0) {
    console.error(`Unknown target ${unknown.join(', ')}; there are: ${TARGETS.join(', ')}`)
    process.exit(2)
  }
  const targets = positionals.length > 0 ? (positionals as Target[]) : TARGETS
  await ensureBuilt(targets, (target) => console.error(`Building ${SAID[target]} …`), values.force ?? false)
  console.log(`Up to date: ${targets.map((target) => OUTPUT[target]).join(', ')}`)
}
