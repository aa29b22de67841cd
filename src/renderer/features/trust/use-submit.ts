import { useState } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { FaultData } from '../../../ipc/faults.ts'
import { useOwnAct } from '../../ui/sheet-subject.tsx'

/** One act of a sheet: whether it runs, what went wrong, and what starts it. */
export function useSubmit(onDone: () => void) {
  const own = useOwnAct()
  const [fault, setFault] = useState<FaultData>()
  const [running, setRunning] = useState(false)
  const submit = (act: () => Promise<void>) => {
    if (running) return
    setRunning(true)
    setFault(undefined)
    own(act())
      .then(onDone, (error: unknown) => setFault(fromConnectError(error).toData()))
      .finally(() => setRunning(false))
  }
  return { fault, running, submit, forget: () => setFault(undefined) }
}
