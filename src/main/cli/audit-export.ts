import { open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { AuditEntrySchema, type ExportAuditResponse } from '../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import { contractJson } from '../contract-json.ts'
import { writeTrouble } from '../file-words.ts'
import { type CliIo, write } from './io.ts'
import { invalid } from './outcome.ts'

/**
 * Writes one entry a line, page by page, into a new file that only its owner reads; how many. A file that did not get all
 * is taken away. The pages are asked for once they are read: nobody would hear that they failed before.
 */
export async function exportAudit(
  pages: () => AsyncIterable<ExportAuditResponse>,
  file: string,
  io: Pick<CliIo, 'stdout'>,
): Promise<number> {
  if (file === '-') return eachPage(pages(), (text) => write(io.stdout, text))
  const handle = await open(file, 'wx', 0o600).catch((error: unknown) => {
    throw invalid('export', file, writeTrouble(error, resolve(file)))
  })
  try {
    const entries = await eachPage(pages(), async (text) => {
      await handle.appendFile(text)
    })
    await handle.sync()
    return entries
  } catch (error) {
    await rm(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

async function eachPage(
  pages: AsyncIterable<ExportAuditResponse>,
  put: (text: string) => Promise<void>,
): Promise<number> {
  let entries = 0
  for await (const page of pages) {
    const lines = page.entries.map((entry) => JSON.stringify(contractJson(AuditEntrySchema, entry)))
    await put(`${lines.join('\n')}\n`)
    entries += lines.length
  }
  return entries
}
