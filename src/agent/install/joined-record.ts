import { z } from 'zod'
import { isId } from '../../ipc/names.ts'
import { removeTree, writeDurable } from '../os/files.ts'
import { readNote } from '../records/note-file.ts'

const Joined = z.object({
  fleet_id: z.string().refine(isId),
  /** One-shot; '' = a control plane has taken it. */
  token: z.string(),
  public_key: z.string(),
  /** Login that may do one thing. */
  user: z.string(),
  home: z.string().startsWith('/'),
  /** Made by the join, for uninstall to take away. */
  user_made: z.boolean(),
  gid: z.number().int(),
  executable: z.string().startsWith('/'),
  socket: z.string().startsWith('/'),
  expires_at: z.string(),
  joined_at: z.string(),
})
/** How this host joined; for root alone. */
export type Joined = z.infer<typeof Joined>

/** Undefined when it did not join, or the file cannot be read. */
export const readJoined = (path: string): Promise<Joined | undefined> => readNote(path, Joined)

/** Durable when it resolves. */
export async function writeJoined(path: string, joined: Joined, write: typeof writeDurable = writeDurable) {
  await write('join.record', path, `${JSON.stringify(joined, null, 2)}\n`)
}

/** Idempotent. */
export const forgetJoined = (path: string): Promise<void> => removeTree('join.record-remove', path)
