import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, TARGETS } from './build.ts'
import { BROWSER_PARTS, ensureParts, TEST_PARTS, VM_PARTS } from './parts.ts'
import { root } from './root.ts'
import { allowedSkips, closingLine, forbiddenSkips, sum, type Tally } from './tally.ts'

const bin = (name: string) => join(root, 'node_modules/.bin', name)
const work = mkdtempSync(join(tmpdir(), 'eitri-test-'))
const children = new Set<ReturnType<typeof spawn>>()
const log = (line: string) => process.stdout.write(`${line}\n`)

function run(file: string, args: string[], env: Record<string, string> = {}): Promise<number> {
  const child = spawn(file, args, {
    cwd: root,
    env: { ...process.env, FORCE_COLOR: '0', ...env },
    stdio: ['ignore', 1, 1],
  })
  children.add(child)
  return new Promise((resolve) => {
    child.on('error', (error) => {
      log(`${file}: ${error.message}`)
      resolve(127)
    })
    child.on('close', (code) => {
      children.delete(child)
      resolve(code ?? 1)
    })
  })
}

/** A check with one outcome counts as one test. */
async function check(name: string, file: string, ...args: string[]): Promise<Tally> {
  const failed = (await run(file, args)) === 0 ? 0 : 1
  log(`${failed ? '✗' : '✓'} ${name}`)
  return { passed: 1 - failed, failed, skipped: 0, skips: [], failures: failed ? [name] : [] }
}

async function runner(name: string, file: string, args: string[], env: Record<string, string> = {}): Promise<Tally> {
  log(`— ${name}`)
  const out = join(work, `${name}.json`)
  const code = await run(file, args, { ...env, EITRI_TALLY: out })
  const nothing: Tally = { passed: 0, failed: 0, skipped: 0, skips: [], failures: [] }
  let tally = nothing
  try {
    tally = JSON.parse(readFileSync(out, 'utf8')) as Tally
  } catch {
    log(`✗ ${name} left no result`)
  }
  // a runner that failed without a failed test must not pass
  return code !== 0 && tally.failed === 0
    ? { ...tally, failed: 1, failures: [`${name} ended with ${code} though no test failed`] }
    : tally
}

function vitest(name: string, projects: string[], workers: string): Promise<Tally> {
  const args = [
    'run',
    '--reporter=default',
    `--reporter=${join(root, 'scripts/vitest-tally.ts')}`,
    '--passWithNoTests=false',
  ]
  return runner(name, bin('vitest'), [...args, ...projects.map((project) => `--project=${project}`)], {
    EITRI_TEST_WORKERS: workers,
  })
}

const STAGES: Record<string, () => Promise<Tally>> = {
  lint: async () =>
    sum([
      await check('lint', bin('biome'), 'ci', '--colors=off', '.'),
      await check('the contracts break nobody', process.execPath, join(root, 'scripts/check-breaking.ts')),
    ]),
  types: async () => {
    const worlds = ['node', 'electron', 'web', 'test'].map((world) => `tsconfig.${world}.json`)
    return sum(await Promise.all(worlds.map((file) => check(`types ${file}`, bin('tsc'), '-p', file))))
  },
  contracts: async () =>
    sum([
      await check('buf lint', bin('buf'), 'lint'),
      await check('generated code is current', process.execPath, join(root, 'scripts/check-generated.ts')),
      await check('OpenAPI document is current', process.execPath, join(root, 'scripts/openapi.ts'), '--check'),
      await check('electron-builder.yml', process.execPath, join(root, 'scripts/check-builder.mjs')),
    ]),
  unit: () => vitest('unit, contract and arch', ['unit', 'contract', 'arch'], '50%'),
  integration: () => vitest('integration', ['integration'], '2'),
  e2e: () => {
    const reporters = `list,${join(root, 'scripts/playwright-tally.ts')}`
    return runner('e2e', bin('playwright'), ['test', `--reporter=${reporters}`])
  },
}

function judge(tally: Tally): Tally {
  for (const { title, reason } of tally.skips) log(`skipped: ${title}: ${reason || 'no reason given'}`)
  if (!process.env['CI']) return tally
  const forbidden = forbiddenSkips(tally.skips, allowedSkips(readFileSync(join(root, 'docs/verified.md'), 'utf8')))
  for (const { title } of forbidden) log(`✗ skipped without being allowed in docs/verified.md: ${title}`)
  const failures = forbidden.map(({ title }) => `skipped without being allowed: ${title}`)
  return { ...tally, failed: tally.failed + forbidden.length, failures: [...tally.failures, ...failures] }
}

const { positionals } = parseArgs({ allowPositionals: true })
const unknown = positionals.filter((name) => !Object.hasOwn(STAGES, name))
if (unknown.length > 0) {
  console.error(`Unknown stage ${unknown.join(', ')}; there are: ${Object.keys(STAGES).join(', ')}`)
  process.exit(2)
}
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(work, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

await ensureParts([...VM_PARTS, ...BROWSER_PARTS, ...TEST_PARTS])
mkdirSync(join(root, 'out'), { recursive: true })
const tallies: Tally[] = []
for (const name of positionals.length > 0 ? positionals : Object.keys(STAGES)) {
  // what the tests of a stage start must be there; lint and types say more about a broken tree than a failed build
  if (['unit', 'integration', 'e2e'].includes(name))
    await ensureBuilt(TARGETS, (target) => log(`building ${target}`)).catch((error: Error) => {
      log(`✗ build: ${error.message}`)
      tallies.push({ passed: 0, failed: 1, skipped: 0, skips: [], failures: [`build: ${error.message}`] })
    })
  tallies.push(await (STAGES[name] as () => Promise<Tally>)())
}
const total = judge(sum(tallies))
process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0
for (const title of total.failures) log(`failed: ${title}`)
log(closingLine(total))
