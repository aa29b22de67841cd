import { queryClient, queryKeys } from '../../api/queries.ts'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { graceWords, retentionWords } from './periods.ts'
import { retentionChanged, storeChanged, tenantsChanged } from './queries.ts'

/** A copy of a large store, or a bundle of a large fleet, takes its time. */
const LONG_MS = 10 * 60_000

async function ask<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    toastFault(error)
    return undefined
  }
}

/** Seconds; those in quarantine keep what they have. */
export async function setGrace(tenant: string, graceS: number): Promise<void> {
  const done = await ask(() => api.tenants.updateTenant({ name: tenant, limits: { graceS } }))
  if (done) toastDone(`Deleted VMs of ${tenant} are kept: ${graceWords(graceS)}`)
  await tenantsChanged()
}

/** Days, 0 = for ever; older entries go now. */
export async function setRetention(days: number): Promise<void> {
  const done = await ask(() => api.audit.setAuditRetention({ days }))
  if (done) toastDone(`Activity is kept ${retentionWords(done.days)}`)
  await retentionChanged()
}

/** Answers what was written, or undefined when it was not. */
export async function backUp(path: string) {
  const done = await ask(() => api.store.backupStore({ path }, { timeoutMs: LONG_MS }))
  if (done) await storeChanged()
  return done
}

/** Answers what became of the damaged store. */
export async function rebuildStore() {
  const done = await ask(() => api.store.rebuildStore({}, { timeoutMs: LONG_MS }))
  await storeChanged()
  await queryClient.invalidateQueries({ queryKey: queryKeys.info })
  return done
}

/** Answers where it is, or undefined when it was not written. */
export const writeBundle = (request: { path: string; without: string[]; previewId: string }) =>
  ask(() => api.support.writeBundle(request, { timeoutMs: LONG_MS }))
