import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** How the peer misbehaves; read anew before each thing it does, so that a test can change its mind. */
export interface Behaviour {
  /** Ends at once with these words on stderr. */
  refuses?: string
  /** Runs, and never serves its REST address. */
  silent?: boolean
  /** So many answers to inspect lack the name of the pseudo-terminal. */
  ptyAfter?: number
  /** Instead of an answer: none at all, no JSON, 4 MiB of JSON, or a cut connection. */
  answers?: 'never' | 'garbage' | 'flood' | 'reset'
  /** What GET /vm/state says of canStop. */
  canStop?: boolean
  /** Stop is accepted, and the guest takes no notice. */
  deaf?: boolean
  /** Answers HardStop with this error. */
  hardStopFails?: string
  /** The process ends before it answers HardStop, as vfkit often does. */
  endsBeforeReply?: boolean
  /** SIGTERM has no effect. */
  ignoresTerm?: boolean
  /** How long after SIGTERM the guest is forced off. */
  termMs?: number
  /** Where the guest's lease is written, and its address. */
  lease?: { file: string; ip: string }
  /** What runs here, as GOARCH says it. */
  arch?: string
}

/** Folder of one test's peers: `behaviour.json` steers them, `requests.log` is what they were asked. */
export const BEHAVIOUR_FILE = 'behaviour.json'
export const REQUESTS_FILE = 'requests.log'

export function readBehaviour(dir: string): Behaviour {
  try {
    return JSON.parse(readFileSync(join(dir, BEHAVIOUR_FILE), 'utf8')) as Behaviour
  } catch {
    return {}
  }
}
