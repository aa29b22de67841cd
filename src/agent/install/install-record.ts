import { join } from 'node:path'
import { z } from 'zod'
import type { TwoStepPoint } from '../os/failpoints.ts'
import { writeDurable } from '../os/files.ts'
import { readNote } from '../records/note-file.ts'

export const STARTERS = ['systemd', 'systemd-user', 'openrc', 'cron', 'app'] as const
export type StartedBy = (typeof STARTERS)[number]

const Install = z.object({
  executable: z.string(),
  version: z.string(),
  started_by: z.enum(STARTERS),
  runs_as: z.string(),
  socket: z.string(),
  /** What install changed about the group; agents of before did not say. */
  group: z.object({ made: z.boolean(), members: z.array(z.string()) }).default({ made: false, members: [] }),
})
export type InstallRecord = z.infer<typeof Install>

/** Where the note lies. */
export const installNote = (stateDir: string) => join(stateDir, 'install.json')

/** How this agent was installed; undefined when it was not, or the note cannot be read. */
export const readInstall = (stateDir: string): Promise<InstallRecord | undefined> =>
  readNote(installNote(stateDir), Install)

/** Durable when it resolves. */
export async function writeInstall(point: TwoStepPoint, stateDir: string, record: InstallRecord): Promise<void> {
  await writeDurable(point, installNote(stateDir), `${JSON.stringify(record, null, 2)}\n`)
}
