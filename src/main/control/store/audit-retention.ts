import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault } from '../../../ipc/faults.ts'
import { type AuditStore, SYSTEM_TENANT } from './audit-store.ts'
import type { Database } from './database.ts'
import type { SettingsStore } from './settings-store.ts'

const DAY_MS = 24 * 3600 * 1000
const DEFAULT_DAYS = 365
const KEY = 'audit.retention_days'
/** Removed in one go: what else there is to do gets its turn between. */
const PRUNE_ROWS = 5_000

export interface RetentionDeps {
  db: Database
  audit: AuditStore
  settings: SettingsStore
  clock: Clock
  log: Log
}

/** How long the trail is kept. */
export interface AuditRetention {
  /** 0 = for ever. */
  days(): number
  /** Older entries are removed soon. */
  set(days: number): void
  /** Removes now and daily until the signal aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>
}

/** Of the trail of all tenants; kept in the settings, as whole days. */
export function auditRetention({ db, audit, settings, clock, log }: RetentionDeps): AuditRetention {
  let wake = new AbortController()
  const days = () => {
    const text = settings.find(KEY)
    return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : DEFAULT_DAYS
  }
  async function prune(signal: AbortSignal): Promise<void> {
    try {
      let removed = 0
      for (let last = PRUNE_ROWS; last === PRUNE_ROWS && !signal.aborted; await nextTurn()) {
        last = audit.prune(days() * DAY_MS, PRUNE_ROWS)
        removed += last
      }
      if (removed > 0) log.info('audit.pruned', { removed })
    } catch (error) {
      log.warn('audit.not-pruned', { message: asFault(error).message })
    }
  }
  return {
    days,
    set(next) {
      const before = days()
      if (next === before) return
      db.transaction(() => {
        settings.set(KEY, String(next))
        audit.changed({ action: 'audit.retention', tenant: SYSTEM_TENANT }, { days: before }, { days: next })
      })
      wake.abort()
    },
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController()
        await prune(signal)
        await clock.sleep(DAY_MS, AbortSignal.any([signal, wake.signal])).catch(() => {})
      }
    },
  }
}
