import { FAILPOINTS, phasesOf } from '../../src/agent/os/failpoints.ts'
import { forgotten, whyNotHere } from '../support/crash/crash-plan.ts'
import { CrashRun, type Reached } from '../support/crash/crash-run.ts'
import type { Soak } from './soak.ts'

const SEEDS = [1, 2, 3]

/** Kills the agent at every phase of every call each step reaches, in three orders. */
export const soakCrash: Soak = async (say) => {
  await using run = await CrashRun.open()
  const reached = await run.record()
  say(`${reached.length} places in ${new Set(reached.map(({ step }) => step)).size} steps`)
  const crashed = new Set<string>()
  const wrong: string[] = []
  for (const seed of SEEDS) {
    for (const place of shuffled(reached, seed)) {
      const found = await run.crash(place)
      // What a start reaches late may come too late for one that ends soon; another step has it.
      if (found.some((what) => what.includes('was not reached'))) say(found.join('; '))
      else crashed.add(place.place)
      for (const what of found.filter((what) => !what.includes('was not reached'))) say(what)
      wrong.push(...found.filter((what) => !what.includes('was not reached')))
    }
    say(`seed ${seed}: ${reached.length} crashes, ${wrong.length} invariants broken so far`)
  }
  const here = FAILPOINTS.filter((name) => whyNotHere(name) === undefined)
  const places = here.flatMap((name) => phasesOf(name).map((phase) => `${name}:${phase}`))
  const missed = places.filter((place) => !crashed.has(place))
  say(`failpoints hit = ${here.length - forgotten(namesOf(crashed)).length} of ${here.length} in code, `)
  say(`phases hit = ${places.length - missed.length} of ${places.length}; missed: ${missed.join(' ') || 'none'}`)
  if (wrong.length > 0 || forgotten(namesOf(crashed)).length > 0) throw new Error(`${wrong.length} invariants broken`)
}

const namesOf = (places: ReadonlySet<string>): Set<string> => new Set([...places].map((place) => place.split(':')[0]!))

/** The same order for the same seed. */
function shuffled(places: readonly Reached[], seed: number): Reached[] {
  const order = [...places]
  let state = seed
  for (let i = order.length - 1; i > 0; i--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const j = state % (i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  return order
}
