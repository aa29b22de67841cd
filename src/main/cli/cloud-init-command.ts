import type { Readable } from 'node:stream'
import type { Command } from 'commander'
import { checkedUserData } from '../../ipc/cloud-init/wire.ts'
import { CheckCloudInitResponseSchema } from '../../ipc/gen/eitri/fleet/v1/cloud_init_pb.js'
import { LIMITS, MiB } from '../../ipc/units.ts'
import { findingLines, refuseErrors } from './cloud-init-findings.ts'
import type { Runner } from './context.ts'
import { fileOf } from './options.ts'

export function cloudInitCommand(root: Command, run: Runner): void {
  const cloudInit = root.command('cloud-init').description('user-data of guests')
  run(
    cloudInit.command('check <file>').description('what a guest would stumble over; "-" reads standard input'),
    async (context, file: string) => {
      context.deadline()
      const bytes = file === '-' ? await allOf(context.io.stdin) : await fileOf('file', file, 4 * MiB)
      const answer = checkedUserData(bytes)
      const name = file === '-' ? 'standard input' : file
      await context.answer(CheckCloudInitResponseSchema, answer, () =>
        answer.findings.length === 0 ? `${name}: nothing to say.\n` : `${findingLines(name, answer).join('\n')}\n`,
      )
      refuseErrors(name, answer)
    },
  )
}

/** As much as is needed to say that it is too much. */
async function allOf(stdin: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stdin) {
    chunks.push(Buffer.from(chunk as Buffer | string))
    size += (chunks.at(-1) as Buffer).length
    if (size > LIMITS.cloudInitBytes) break
  }
  return Buffer.concat(chunks)
}
