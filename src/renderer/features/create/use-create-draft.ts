import { useEffect, useState } from 'react'
import { type CreateVmDraft, emptyDraft, newVmId } from './create-vm-draft.ts'

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
    return version === VERSION && fits ? { ...empty, ...draft } : undefined
  } catch {
    return undefined
  }
}

export interface CreateDraft {
  draft: CreateVmDraft
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
    sshKeys: localStorage.getItem(KEY_MEMORY) ?? '',
  })
  const [{ draft, restored, touched }, setState] = useState(() => {
    const empty = fresh()
    const kept = readDraft(sessionStorage.getItem(DRAFT), empty)
    return {
      draft: kept ? { ...kept, ...(host ? { host } : {}) } : empty,
      restored: kept !== undefined,
      touched: kept !== undefined,
    }
  })
  useEffect(() => {
    if (!touched) return
    const text = JSON.stringify({ version: VERSION, draft })
    try {
      if (text.length <= MOST_CHARS) sessionStorage.setItem(DRAFT, text)
    } catch {
      // A full store keeps the draft of before.
    }
  }, [draft, touched])
  return {
    draft,
    restored,
    set: (change) => setState((was) => ({ ...was, draft: { ...was.draft, ...change }, touched: true })),
    startOver: () => {
      sessionStorage.removeItem(DRAFT)
      setState({ draft: fresh(), restored: false, touched: false })
    },
    done: () => {
      sessionStorage.removeItem(DRAFT)
      localStorage.setItem(KEY_MEMORY, draft.sshKeys)
    },
  }
}
