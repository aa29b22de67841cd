import { createContext, type ReactNode, useContext, useMemo, useRef, useState } from 'react'

/** Why a sheet cannot act any more: its object left, or became another thing, while it stood open. */
export interface Gone {
  title: string
  /** What happened to it as far as is known, and what stays. */
  what: string
}

interface Subject {
  gone: Gone | undefined
  /** When this window learnt it. */
  since: number
  own: <T>(act: Promise<T>) => Promise<T>
}

const straight = <T,>(act: Promise<T>): Promise<T> => act
const SubjectContext = createContext<Subject>({ gone: undefined, since: 0, own: straight })

/**
 * What the sheets inside are about. Once it is gone they say so, keep what was typed to copy, and offer only Close.
 * The first verdict stands: a sheet that lost its object does not come back to life under a hand.
 */
export function SheetSubject({ gone: told, children }: { gone: Gone | undefined; children: ReactNode }) {
  const [running, setRunning] = useState(0)
  const first = useRef<{ gone: Gone; since: number }>(undefined)
  // What the sheet itself asked for may take its object away: that is its end, not a loss.
  if (told && running === 0) first.current ??= { gone: told, since: Date.now() }
  const { gone, since } = first.current ?? { gone: undefined, since: 0 }
  const subject = useMemo<Subject>(
    () => ({
      ...{ gone, since },
      own: (act) => {
        setRunning((n) => n + 1)
        return act.finally(() => setTimeout(() => setRunning((n) => n - 1)))
      },
    }),
    [gone, since],
  )
  return <SubjectContext value={subject}>{children}</SubjectContext>
}

export const useSubject = (): Subject => useContext(SubjectContext)

/** Marks an act of the sheet that may itself take the object away, until it is answered. */
export const useOwnAct = () => useSubject().own
