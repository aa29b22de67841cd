import { z } from 'zod'
import { readIfPresent, writeDurable } from '../os/files.ts'
import type { NetworkPlace } from './network-place.ts'

const NoteFile = z.object({
  version: z.literal(1),
  state_dir: z.string(),
  cidr: z.string(),
  ip_forward: z.string(),
})

/** Whose the guests' network of this namespace is, for who undoes it. */
export interface NetworkNote {
  stateDir: string
  cidr: string
  /** What `net.ipv4.ip_forward` was before it was first set here; '' = it was not changed. */
  ipForward: string
}

/** Undefined = none, or not readable. */
export async function readNote(place: NetworkPlace): Promise<NetworkNote | undefined> {
  try {
    const bytes = await readIfPresent(place.note)
    if (!bytes) return undefined
    const { state_dir, cidr, ip_forward } = NoteFile.parse(JSON.parse(bytes.toString('utf8')))
    return { stateDir: state_dir, cidr, ipForward: ip_forward }
  } catch {
    return undefined
  }
}

/** Durable when it resolves. */
export async function writeNote(place: NetworkPlace, { stateDir, cidr, ipForward }: NetworkNote): Promise<void> {
  const file = { version: 1, state_dir: stateDir, cidr, ip_forward: ipForward }
  await writeDurable('network.note', place.note, `${JSON.stringify(file)}\n`)
}
