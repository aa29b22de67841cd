import { PAYLOAD_REPORT } from '../seed/fleet-payload.ts'
import type { CloudInitState } from './cloud-init-verdict.ts'

export interface PayloadVerdict {
  state: 'applied' | 'not_applied' | ''
  /** Why it is not, one sentence. */
  detail: string
}

const UNKNOWN: PayloadVerdict = { state: '', detail: '' }
const missing = (detail: string): PayloadVerdict => ({ state: 'not_applied', detail })
const DETAIL_LIMIT = 300

export interface PayloadSigns {
  vmId: string
  /** What the fleet's part left in the guest; undefined = nothing. */
  report: string | undefined
  cloudInit: CloudInitState
  /** cloud-init was told to leave vendor data out. */
  refused: boolean
  /** The seed of this VM has a part that leaves word: seeds of earlier releases have none. */
  leavesWord: boolean
}

/** Whether what the fleet owes every guest took effect in this one. */
export function payloadVerdict({ vmId, report, cloudInit, refused, leavesWord }: PayloadSigns): PayloadVerdict {
  if (report !== undefined) return reported(vmId, report)
  if (!leavesWord) return UNKNOWN
  switch (cloudInit) {
    case 'absent':
      return missing('The guest has no cloud-init, which would apply it.')
    case 'disabled':
      return missing('cloud-init is disabled in the guest.')
    case 'done':
    case 'degraded':
    case 'error':
      if (refused) return missing('Its user-data turns vendor data off, and that is where the fleet puts it.')
      return missing(`cloud-init ended${cloudInit === 'error' ? ' with errors' : ''} and did not run it.`)
    case 'running':
    case '':
      return UNKNOWN
  }
}

function reported(vmId: string, report: string): PayloadVerdict {
  const [id = '', ...lines] = report
    .trim()
    .split('\n')
    .map((line) => line.trim())
  if (id !== vmId) return missing('What is there was applied for another VM, whose disk this was.')
  if (lines.at(-1) !== 'end') return missing('It was cut short.')
  const failed = lines.filter((line) => /^\w+ failed\b/.test(line)).map((line) => line.replace(' failed ', ': '))
  if (failed.length > 0) return missing(`Not all of it: ${failed.join('; ')}.`.slice(0, DETAIL_LIMIT))
  return { state: 'applied', detail: '' }
}

/** What a guest said on its console of its own accord; the last of this VM counts. */
export function payloadOnConsole(text: string, vmId: string): PayloadVerdict {
  const said = [...text.matchAll(/\x1b\]7791;eitri-payload;(applied|incomplete);([0-9a-f]{12})\x07/g)]
  const last = said.findLast(([, , id]) => id === vmId.slice(0, 12))?.[1]
  if (last === 'applied') return { state: 'applied', detail: '' }
  return last === 'incomplete' ? missing('Not all of it, as the guest said on its console.') : UNKNOWN
}

/** Whether a seed medium holds a part that leaves word in the guest. */
export function seedLeavesWord(seed: Uint8Array): boolean {
  const text = Buffer.from(seed).toString('latin1')
  return [...text.matchAll(/\n\n([A-Za-z0-9+/\n]{64,}=*)/g)].some(([, base64 = '']) =>
    Buffer.from(base64, 'base64').includes(PAYLOAD_REPORT),
  )
}
