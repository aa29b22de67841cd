import { toJson } from '@bufbuild/protobuf'
import { type AuditEntry, AuditEntrySchema } from '../../../ipc/gen/eitri/fleet/v1/audit_pb.js'
import type { FilterTerm } from '../../lib/filter.ts'
import { matching, type Names } from './entries.ts'

/** One file holds at most this much; more is for the command line, which writes as it reads. */
const MAX_EXPORT_CHARS = 200_000_000

export interface Exported {
  entries: number
  parts: string[]
  /** There was more than one file may hold. */
  cut: boolean
}

/** One entry a line, oldest first, as everything of this program writes it. */
export const lineOf = (entry: AuditEntry): string =>
  `${JSON.stringify(toJson(AuditEntrySchema, entry, { useProtoFieldName: true, alwaysEmitImplicit: true }))}\n`

/** Reads an export to its end, or to what a file may hold. */
export async function readExport(
  pages: AsyncIterable<{ entries: AuditEntry[] }>,
  { terms, names, onRead }: { terms: readonly FilterTerm[]; names: Names; onRead: (entries: number) => void },
  maxChars = MAX_EXPORT_CHARS,
): Promise<Exported> {
  const parts: string[] = []
  let [entries, chars] = [0, 0]
  for await (const page of pages) {
    const kept = matching(page.entries, terms, names)
    const text = kept.map(lineOf).join('')
    if (chars + text.length > maxChars) return { entries, parts, cut: true }
    chars += text.length
    entries += kept.length
    if (text !== '') parts.push(text)
    onRead(entries)
  }
  return { entries, parts, cut: false }
}
