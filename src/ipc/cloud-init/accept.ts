import { Fault } from '../faults.ts'
import { checkUserData, refusalOf } from './check.ts'

/** Raises cloud-init/invalid with the first error of user-data; warnings pass. */
export function acceptUserData(userData: Uint8Array): void {
  const found = checkUserData(userData)
  const refusal = refusalOf(found)
  if (!refusal) return
  throw new Fault('cloud-init/invalid', 'permanent', {
    line: `${refusal.line}`,
    problem: refusal.what,
    fix: refusal.fix,
    errors: `${found.filter(({ severity }) => severity === 'error').length}`,
  })
}
