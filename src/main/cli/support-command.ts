import { resolve } from 'node:path'
import type { Command } from 'commander'
import {
  type PreviewBundleResponse,
  PreviewBundleResponseSchema,
  WriteBundleResponseSchema,
} from '../../ipc/gen/eitri/fleet/v1/support_pb.js'
import type { Runner } from './context.ts'
import { table } from './table.ts'

const BUNDLE_MS = 5 * 60_000

/** `eitri support [FILE]`: what a support bundle holds, or one written into a new file. */
export function supportCommand(root: Command, run: Runner): void {
  const command = root
    .command('support [file]')
    .description('what helps somebody to help you, without names, addresses and secrets; without FILE it is only shown')
    .option(
      '--without <name>',
      'leave this file out; may be repeated',
      (name: string, all: string[]) => [...all, name],
      [],
    )
  run(command, async (context, file: string | undefined, { without }: { without: string[] }) => {
    context.deadline(BUNDLE_MS)
    const fleet = await context.fleet()
    const { signal } = context
    if (file === undefined) {
      const preview = await fleet.support.previewBundle({}, { signal })
      return await context.answer(PreviewBundleResponseSchema, preview, () => shown(preview))
    }
    const answer = await fleet.support.writeBundle({ path: resolve(file), without }, { signal })
    await context.answer(
      WriteBundleResponseSchema,
      answer,
      () => `${answer.path}: ${answer.sizeBytes} bytes, SHA-256 ${answer.sha256}\n`,
    )
  })
}

/** Each file with what was taken out of it; the whole text is in the JSON. */
function shown({ files }: PreviewBundleResponse): string {
  const rows = files.map(({ name, sizeBytes, redacted, about }) => [
    name,
    String(sizeBytes),
    Object.entries(redacted)
      .map(([kind, n]) => `${kind} ${n}`)
      .join(', ') || 'nothing',
    about,
  ])
  return `${table(['FILE', 'BYTES', 'TAKEN OUT', 'WHAT IT IS'], rows)}\nNothing was written. "eitri support FILE" writes it, --json shows all of it.\n`
}
