import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { RivalsModel } from '../support/rivals-model.ts'
import type { Soak } from './soak.ts'

const SEEDS = 5
const OPS = 10_000

/** Ten thousand commands of three control planes over one host, two of one fleet, five times; the short form is in the tests. */
export const soakRivals: Soak = async (say) => {
  const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  for (let i = 0; i < SEEDS; i++) {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const model = await RivalsModel.open(seed, memory)
    try {
      say(`seed ${seed}: ${JSON.stringify(await model.run(Number(process.env['EITRI_RIVAL_OPS'] ?? OPS)))}`)
    } catch (error) {
      say(`seed ${seed} does not hold`)
      throw error
    } finally {
      await model.close()
    }
  }
}
