import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { OwnershipModel } from '../support/ownership-model.ts'

const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const SEEDS = [20_240_229, 1_060_137_942]

describe('two control planes that want different things of one host', () => {
  it.each(SEEDS)(
    'are obeyed one at a time, whole, and the loser is told (seed %i)',
    { timeout: 120_000 },
    async (seed) => {
      const model = await OwnershipModel.open(seed, MEMORY)
      try {
        const tally = await model.run(5_000)
        console.log(`seed ${seed}:`, JSON.stringify(tally))
        expect(tally.ops).toBe(5_000)
        for (const [what, times] of Object.entries(tally)) expect(times, what).toBeGreaterThan(20)
      } finally {
        await model.close()
      }
    },
  )
})
