import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { OwnershipModel } from '../support/ownership-model.ts'
import type { Soak } from './soak.ts'

const SEEDS = 100
const OPS = 10_000

/** A million commands of two control planes that want different things of one host. */
export const soakOwners: Soak = async (say) => {
  const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  for (let i = 0; i < SEEDS; i++) {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const model = await OwnershipModel.open(seed, memory)
    try {
      say(`seed ${seed}: ${JSON.stringify(await model.run(OPS))}`)
    } catch (error) {
      say(`seed ${seed} does not hold`)
      throw error
    } finally {
      await model.close()
    }
  }
}
