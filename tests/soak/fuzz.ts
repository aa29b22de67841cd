import fc from 'fast-check'
import { AgentProcess } from '../support/agent-process.ts'
import { atOnce, attack, attackFromInside, held, insiderFrames, outsiderAttack, Witness } from '../support/wire-fuzz.ts'
import type { Soak } from './soak.ts'

const ROUNDS = 60
const ROUND_MS = 10_000
const GROWTH_MB = 32

/** Twenty minutes of what a real agent's socket should never be sent, a new seed each round. */
export const soakFuzz: Soak = async (say) => {
  await using agent = new AgentProcess()
  await agent.start()
  let first: ReturnType<typeof held> | undefined
  for (let round = 0; round < ROUNDS; round++) {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const bounds = { seed, numRuns: 1_000_000, interruptAfterTimeLimit: ROUND_MS, endOnFailure: true }
    const witness = await Witness.attach(agent.socketPath)
    let runs = 0
    await fc.assert(
      fc.asyncProperty(atOnce(outsiderAttack(witness.sessionId)), async (many) => {
        await Promise.all(many.map((how) => attack(agent.socketPath, how)))
        runs += many.length
        await witness.seesItself()
      }),
      bounds,
    )
    await fc.assert(
      fc.asyncProperty(insiderFrames, async (frames) => {
        runs++
        await attackFromInside(agent.socketPath, frames)
      }),
      bounds,
    )
    witness[Symbol.dispose]()
    const now = held(agent.pid)
    first ??= now
    say(`seed ${seed}: ${runs} attacks, ${Math.round(now.rssMb)} MB, ${now.fds.length} open files`)
    if (now.rssMb - first.rssMb > GROWTH_MB) throw new Error(`it grew from ${first.rssMb} to ${now.rssMb} MB`)
  }
}
