import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { z } from 'zod'
import { type UpgradeOutcome, UpgradeOutcomeSchema } from '../../ipc/gen/eitri/agent/v1/upgrade_pb.js'
import { STARTERS } from '../install/install-record.ts'
import { sizeIfPresent, writeDurable } from '../os/files.ts'
import { readNote } from '../records/note-file.ts'

const Program = z.object({
  /** Absolute; what the link leads to. */
  target: z.string().startsWith('/'),
  version: z.string(),
  /** Build digest; '' = none, as run from source. */
  digest: z.string(),
})
/** An agent as it lies on this host. */
export type UpgradeProgram = z.infer<typeof Program>

const Note = z.object({
  offer: z.object({ version: z.string(), sha256: z.string(), staged_path: z.string() }),
  state: z.enum(['verifying', 'restarting', 'done', 'refused', 'rolled_back']),
  detail: z.string(),
  at: z.string(),
  /** Only from `restarting` on: what it takes to go on or back without the agent that began it. */
  way: z
    .object({
      link: z.string().startsWith('/'),
      from: Program,
      to: Program,
      started_by: z.enum(STARTERS),
      /** What the agent was started with, the program left out. */
      args: z.array(z.string()),
    })
    .optional(),
})
/** How the last upgrade goes. */
export type UpgradeNote = z.infer<typeof Note>
export type UpgradeWay = NonNullable<UpgradeNote['way']>

/** Whether its program still lies on this host. Never rejects. */
export const isThere = async ({ target }: UpgradeProgram): Promise<boolean> =>
  (await sizeIfPresent(target).catch(() => undefined)) !== undefined

const DETAIL_CHARS = 500

/** Undefined when none was ever offered, or the note cannot be read. */
export const readUpgrade = (path: string): Promise<UpgradeNote | undefined> => readNote(path, Note)

/** Durable when it resolves. */
export async function saveUpgrade(path: string, note: UpgradeNote, write: typeof writeDurable = writeDurable) {
  const bounded = { ...note, detail: note.detail.slice(0, DETAIL_CHARS) }
  await write('upgrade.note', path, `${JSON.stringify(bounded, null, 2)}\n`)
}

/** The note as reports tell it. */
export function outcomeOf({ offer, state, detail, at }: UpgradeNote): UpgradeOutcome {
  const date = new Date(at)
  return create(UpgradeOutcomeSchema, {
    version: offer.version,
    sha256: offer.sha256,
    state,
    detail,
    ...(Number.isNaN(date.getTime()) ? {} : { at: timestampFromDate(date) }),
  })
}
