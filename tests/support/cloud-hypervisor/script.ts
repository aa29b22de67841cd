import { existsSync, readFileSync } from 'node:fs'

/** How the peer misbehaves, read anew at every step from `misbehave.json` in its working directory. */
export interface Script {
  /** Printed on stderr at the start, then exit 1. */
  dieAtStart?: string
  /** Printed on stderr when the guest boots, then exit 1. */
  dieAtBoot?: string
  /** By endpoint: what is answered instead of doing it. "done-silence" does it and says nothing. */
  answers?: Record<string, 'silence' | 'done-silence' | 'close' | { status: number; body: string }>
  /** The guest does not hear the power button. */
  deaf?: boolean
  ignoreSigterm?: boolean
  /** The statuses of the OpenAPI document (405 for a wrong state) instead of those the program sends (500). */
  documentedStatuses?: boolean
}

export const SCRIPT_FILE = 'misbehave.json'

export const readScript = (): Script =>
  existsSync(SCRIPT_FILE) ? (JSON.parse(readFileSync(SCRIPT_FILE, 'utf8')) as Script) : {}
