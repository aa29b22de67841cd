import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../src/agent/os/failpoints.ts'
import { forgotten, shortPlan, whyNotHere } from '../support/crash/crash-plan.ts'
import { CrashRun, type Reached } from '../support/crash/crash-run.ts'

describe('an agent that is killed', () => {
  it('at any step of starting, creating, stopping, deleting, taking back and purging comes back, and nothing is lost, doubled or left over', async () => {
    const crashed = new Set<string>()
    const wrong: string[] = []
    const lane = async (places: Reached[]) => {
      await using run = await CrashRun.open()
      for (const reached of places) {
        const found = await run.crash(reached)
        if (!found.some((what) => what.includes('was not reached'))) crashed.add(reached.place.split(':')[0]!)
        wrong.push(...found)
        for (const what of found) console.log(what)
      }
    }
    const plan = shortPlan()
    const middle = Math.ceil(plan.length / 2)
    await Promise.all([lane(plan.slice(0, middle)), lane(plan.slice(middle))])
    const excused = FAILPOINTS.filter((name) => whyNotHere(name) !== undefined)
    console.log(
      `failpoints hit = ${crashed.size} of ${FAILPOINTS.length - excused.length} in code that this host reaches; ` +
        `${excused.length} others: ${[...new Set(excused.map(whyNotHere))].join('; ')}`,
    )
    expect(wrong).toEqual([])
    expect(forgotten(crashed)).toEqual([])
  }, 900_000)
})
