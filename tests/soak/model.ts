import { runModel } from '../unit/agent/reconcile/model/run-model.ts'
import type { Soak } from './soak.ts'

const SEQUENCES = Number(process.env['EITRI_MODEL_RUNS'] ?? 100_000)

/** The agent's engine and records against their model, ten times as long as in the tests and with another seed. */
export const soakModel: Soak = (say) => runModel(SEQUENCES, say, Math.floor(Math.random() * 2 ** 31))
