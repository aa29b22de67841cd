import { resolve } from 'node:path'
import type { Command } from 'commander'
import { BackupStoreResponseSchema } from '../../ipc/gen/eitri/fleet/v1/store_pb.js'
import type { Runner } from './context.ts'

const BACKUP_MS = 10 * 60_000

/** `eitri backup FILE`: a copy of the database while everything goes on. */
export function backupCommand(root: Command, run: Runner): void {
  const command = root
    .command('backup <file>')
    .description('copy the database of the fleet into a new file; private keys are not in it')
  run(command, async (context, file: string) => {
    context.deadline(BACKUP_MS)
    const fleet = await context.fleet()
    const answer = await fleet.store.backupStore({ path: resolve(file) }, { signal: context.signal })
    await context.answer(BackupStoreResponseSchema, answer, () =>
      [`${answer.path}: ${answer.sizeBytes} bytes, SHA-256 ${answer.sha256}`, ...needed(answer.needs), ''].join('\n'),
    )
  })
}

/** What a restore on another computer needs beside the copy. */
export const needed = (needs: readonly string[]): string[] =>
  needs.length === 0 ? [] : ['A restore on another computer needs beside it:', ...needs.map((need) => `  ${need}`)]
