import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { RivalsModel } from '../support/rivals-model.ts'

const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const OPS = 600

describe('control planes of other fleets and copies of one, on one host', () => {
  it.each([20_261_201, 4_177])(
    'one wins for everything, the others are told, nothing is half done or lost (seed %i)',
    { timeout: 120_000 },
    async (seed) => {
      const model = await RivalsModel.open(seed, MEMORY)
      try {
        const tally = await model.run(OPS)
        console.log(`seed ${seed}:`, JSON.stringify(tally))
        for (const [what, times] of Object.entries(tally)) expect(times, what).toBeGreaterThan(0)
      } finally {
        await model.close()
      }
    },
  )
})
