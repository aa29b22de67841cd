import type { StepContext } from '../../src/main/control/tasks/task-context.ts'

/** A step of a task nobody watches. */
export const silentStep: StepContext = { detail() {}, progress() {}, checks() {}, shows() {} }
