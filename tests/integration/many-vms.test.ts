import { expect, it } from 'vitest'
import { churn } from '../soak/churn.ts'

it('six guests created at once all reach their prompt, and one deleted and made again leaves no file, tap, process or descriptor behind', async () => {
  const said: string[] = []
  await churn({ vms: 6, until: { rounds: 3 } }, (line) => said.push(line))
  expect(said.at(-1)).toMatch(/^before the first VM (.+); after the last \1$/)
}, 120_000)
