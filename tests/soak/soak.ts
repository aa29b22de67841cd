import { parseArgs } from 'node:util'
import { ensureBuilt, TARGETS } from '../../scripts/build.ts'
import { BROWSER_PARTS, ensureParts, TEST_PARTS, VM_PARTS } from '../../scripts/parts.ts'

/** Prints what it does through `say`; rejects when something did not hold. */
export type Soak = (say: (line: string) => void) => Promise<void>

/** Long runs by name, loaded only when asked for; the short form of each is in the tests. */
const RUNS: Record<string, () => Promise<Soak>> = {
  crash: async () => (await import('./crash.ts')).soakCrash,
  churn: async () => (await import('./churn.ts')).soakChurn,
  model: async () => (await import('./model.ts')).soakModel,
  fuzz: async () => (await import('./fuzz.ts')).soakFuzz,
  fleet: async () => (await import('./fleet.ts')).soakFleet,
  owners: async () => (await import('./owners.ts')).soakOwners,
  rivals: async () => (await import('./rivals.ts')).soakRivals,
}

const { positionals } = parseArgs({ allowPositionals: true })
const unknown = positionals.filter((name) => !Object.hasOwn(RUNS, name))
if (unknown.length > 0) {
  console.error(`No such run: ${unknown.join(', ')}. There are: ${Object.keys(RUNS).join(', ')}`)
  process.exit(2)
}
await ensureParts([...VM_PARTS, ...BROWSER_PARTS, ...TEST_PARTS])
await ensureBuilt(TARGETS, (target) => console.error(`build: ${target}`))
for (const name of positionals.length > 0 ? positionals : Object.keys(RUNS)) {
  const started = performance.now()
  const run = await RUNS[name]!()
  const held = await run((line) => console.log(`${name}: ${line}`)).then(
    () => true,
    (error: unknown) => {
      console.log(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
      return false
    },
  )
  console.log(`${name}: ${held ? 'held' : 'DID NOT HOLD'} after ${Math.round((performance.now() - started) / 1000)} s`)
  if (!held) process.exitCode = 1
}
