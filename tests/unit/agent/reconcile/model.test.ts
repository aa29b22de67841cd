import { describe, expect, it } from 'vitest'
import { runModel } from './model/run-model.ts'

const SEQUENCES = Number(process.env['EITRI_MODEL_RUNS'] ?? 10_000)
/** A change is judged by its own run; other seeds are the long run's. */
const SEED = 1_060_137_942

describe('the engine against a model of it', () => {
  it('whatever people do and whatever fails, every guest and every byte is where it should be', async () => {
    const said: string[] = []
    await runModel(SEQUENCES, (line) => said.push(line), SEED).catch((error: unknown) => {
      throw new Error(`${said.join()}\n${error instanceof Error ? error.message : String(error)}`)
    })
    expect(said[0]).toContain(`${SEQUENCES} sequences`)
  }, 300_000)
})
