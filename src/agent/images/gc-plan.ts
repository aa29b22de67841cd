import { GiB } from '../../ipc/units.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** A whole image nothing refers to stays so long. */
export const UNUSED_MS = 14 * DAY_MS
/** An unfinished image nobody asks for stays so long. */
export const PART_UNUSED_MS = 7 * DAY_MS
/** Even on a full disk what was used or came within this stays: its VM may be on its way. */
export const PRESSURE_UNUSED_MS = HOUR_MS
/** Less free than this, or than a twentieth of the disk, is pressure. */
const LOW_BYTES = 10 * GiB

/** One whole or unfinished image of the cache. */
export interface CacheItem {
  sha256: string
  /** False = unfinished. */
  whole: boolean
  /** On the disk, what was unpacked from it included. */
  bytes: number
  /** Counted while the agent ran and nothing referred to it. */
  unusedMs: number
  /** VMs that refer to it, quarantined ones included. */
  users: readonly string[]
  /** A transfer or an unpacking of it is under way. */
  busy: boolean
}

export interface CollectionInput {
  items: readonly CacheItem[]
  /** Why nobody can say what is in use; '' = it is known. */
  unknown: string
  /** Of the filesystem, bytes. */
  free: number
  total: number
  /** A person wants everything gone that nothing refers to, whatever its age. */
  all?: boolean
  /** Bytes that somebody needs now beyond what is free. */
  missing?: number
}

export type RemoveReason = 'age' | 'pressure' | 'asked'
export type KeepReason = 'in_use' | 'transfer' | 'recent' | 'unknown'

export interface CollectionPlan {
  remove: (CacheItem & { reason: RemoveReason })[]
  keep: (CacheItem & { reason: KeepReason })[]
}

/** What goes and why the rest stays. What is in use or being transferred never goes; the longest unused goes first. */
export function planCollection(input: CollectionInput): CollectionPlan {
  const plan: CollectionPlan = { remove: [], keep: [] }
  const oldestFirst = input.items.toSorted((a, b) => b.unusedMs - a.unusedMs || a.sha256.localeCompare(b.sha256))
  let short = Math.max(input.missing ?? 0, lowBytes(input.total) - input.free)
  for (const item of oldestFirst) {
    const protectedBy = protection(item, input.unknown)
    if (protectedBy) {
      plan.keep.push({ ...item, reason: protectedBy })
      continue
    }
    const reason = removal(item, input.all === true, short > 0)
    if (!reason) {
      plan.keep.push({ ...item, reason: 'recent' })
      continue
    }
    plan.remove.push({ ...item, reason })
    short -= item.bytes
  }
  return plan
}

/** Free bytes under which images go before their time. */
export const lowBytes = (total: number): number => Math.min(LOW_BYTES, total / 20)

function protection({ users, busy }: CacheItem, unknown: string): KeepReason | undefined {
  if (users.length > 0) return 'in_use'
  if (busy) return 'transfer'
  return unknown === '' ? undefined : 'unknown'
}

function removal({ whole, unusedMs }: CacheItem, all: boolean, short: boolean): RemoveReason | undefined {
  if (unusedMs >= (whole ? UNUSED_MS : PART_UNUSED_MS)) return 'age'
  if (all) return 'asked'
  return short && unusedMs >= PRESSURE_UNUSED_MS ? 'pressure' : undefined
}
