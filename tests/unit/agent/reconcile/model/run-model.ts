import fc from 'fast-check'
import { expectConvergence } from './convergence.ts'
import { Referee } from './referee.ts'
import { STEPS } from './steps.ts'
import { World } from './world.ts'

/**
 * Plays random sequences against the engine and its records on a host in memory, and rejects with the shortest one after
 * which something does not hold. `EITRI_MODEL_SEED` plays a run again.
 */
export async function runModel(sequences: number, say: (line: string) => void, usual: number): Promise<void> {
  const seed = Number(process.env['EITRI_MODEL_SEED'] ?? usual)
  let steps = 0
  const property = fc.asyncProperty(
    fc.boolean(),
    fc.commands(STEPS, { maxCommands: 40, size: 'max' }),
    async (narrow, commands) => {
      const world = new World()
      if (narrow) world.caps = { vcpus: 2, memMb: 1_024, diskGb: 0 }
      const referee = new Referee(world)
      await world.begin()
      await fc.asyncModelRun(() => ({ model: referee, real: world }), commands)
      steps += referee.steps
      await expectConvergence(referee, world)
    },
  )
  const details = await fc.check(property, { seed, numRuns: sequences })
  say(`seed ${seed}: ${details.numRuns} sequences, ${steps} steps`)
  if (!details.failed) return
  const why = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance)
  throw new Error(`EITRI_MODEL_SEED=${seed}: after ${details.counterexample}\n${why}`)
}
