import { useEffect, useState } from 'react'
import { CLOCK_POLICIES } from '../../../ipc/clock-policy.ts'
import { forget, keep, readKept } from '../../state/kept.ts'
import { type CreateVmDraft, emptyDraft, newVmId, type PortWish } from './create-vm-draft.ts'

const DRAFT = 'eitri.create-draft'
const KEY_MEMORY = 'eitri.ssh-keys'
const VERSION = 1
/** User-data and the fields around it. */
const MOST_CHARS = 512 * 1024

interface Kept {
  version: number
  draft: CreateVmDraft
}

/** A draft kept before; undefined = none, or none this version understands. Pure. */
export function readDraft(kept: string | null, empty: CreateVmDraft): CreateVmDraft | undefined {
  try {
    const { version, draft } = JSON.parse(kept ?? '') as Kept
    const fits = Object.entries(empty).every(
      ([key, value]) => typeof draft[key as keyof CreateVmDraft] === typeof value,
    )
    const known = CLOCK_POLICIES.includes(draft.clockPolicy) && Array.isArray(draft.ports) && draft.ports.every(isWish)
    return version === VERSION && fits && known ? { ...empty, ...draft } : undefined
  } catch {
    return undefined
  }
}

const isWish = ({ guestPort, hostPort, protocol }: PortWish): boolean =>
  typeof guestPort === 'string' && typeof hostPort === 'string' && (protocol === 'tcp' || protocol === 'udp')

export interface CreateDraft {
  draft: CreateVmDraft
  /** As an empty form began. */
  begun: CreateVmDraft
  set: (change: Partial<CreateVmDraft>) => void
  /** It was begun before this page was opened. */
  restored: boolean
  startOver: () => void
  /** The VM is made: the next one begins anew. */
  done: () => void
}

/** The form as it is typed. It outlives leaving the page and a reload, and ends with the window: user-data may hold secrets. */
export function useCreateDraft(freshName: () => string, host: string): CreateDraft {
  const fresh = (): CreateVmDraft => ({
    ...emptyDraft(freshName()),
    host,
    vmId: newVmId(),
    sshKeys: readKept(KEY_MEMORY) ?? '',
  })
  const [{ draft, begun, restored, touched }, setState] = useState(() => {
    const empty = fresh()
    const kept = readDraft(readKept(DRAFT, 'window'), empty)
    return {
      draft: kept ? { ...kept, ...(host ? { host } : {}) } : empty,
      begun: empty,
      restored: kept !== undefined,
      touched: kept !== undefined,
    }
  })
  useEffect(() => {
    if (!touched) return
    const text = JSON.stringify({ version: VERSION, draft })
    if (text.length <= MOST_CHARS) keep(DRAFT, text, 'window')
  }, [draft, touched])
  return {
    draft,
    begun,
    restored,
    set: (change) => setState((was) => ({ ...was, draft: { ...was.draft, ...change }, touched: true })),
    startOver: () => {
      forget(DRAFT, 'window')
      const draft = fresh()
      setState({ draft, begun: draft, restored: false, touched: false })
    },
    done: () => {
      forget(DRAFT, 'window')
      keep(KEY_MEMORY, draft.sshKeys)
    },
  }
}
