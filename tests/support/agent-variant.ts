import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const BUNDLE = path.resolve(import.meta.dirname, '../../dist/agent/agent.cjs')
const ZERO = '0'.repeat(64)
const sha256 = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex')

export interface AgentVariant {
  version: string
  /** The bundle. */
  bytes: Buffer
  sha256: string
  /** Build digest, as such a build would carry it. */
  digest: string
}

/** The built agent as another version of it; `before` runs before anything of it does. */
export function agentVariant(version: string, before = ''): AgentVariant {
  const built = readFileSync(BUNDLE, 'utf8')
  const info = /version:"[^"]+",digest:"([0-9a-f]{64})"/.exec(built)
  if (!info) throw new Error(`${BUNDLE} says no version: build it with npm run build:agent`)
  const zeroed = `${before}${built.replaceAll(info[1]!, ZERO)}`.replace(
    /version:"[^"]+",digest:"0{64}"/,
    `version:${JSON.stringify(version)},digest:"${ZERO}"`,
  )
  const digest = sha256(zeroed)
  const bytes = Buffer.from(zeroed.replaceAll(ZERO, digest))
  return { version, bytes, sha256: sha256(bytes), digest }
}

/** Code of an agent that does this where it should serve. */
export const whenServing = (code: string): string => `if(process.argv.includes("serve")){${code}}\n`
