import { useEffect, useState } from 'react'
import { checkUserData } from '../../../ipc/cloud-init/check.ts'
import type { Finding } from '../../../ipc/cloud-init/finding.ts'

const PAUSE_MS = 120

export interface Findings {
  found: readonly Finding[]
  /** The text they are of; while another one is being typed they are the ones of before. */
  of: string
}

/** What is to be said of user-data, looked at when typing pauses. */
export function useFindings(text: string): Findings {
  const [findings, setFindings] = useState<Findings>({ found: [], of: '' })
  useEffect(() => {
    const timer = setTimeout(() => setFindings({ found: checkUserData(text), of: text }), text === '' ? 0 : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return findings
}
