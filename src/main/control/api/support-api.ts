import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../ipc/faults.ts'
import type { SupportService } from '../../../ipc/gen/eitri/fleet/v1/support_pb.js'
import type { AuditEvent } from '../store/audit-store.ts'
import { archiveOf, writeNew } from '../support/bundle-archive.ts'
import type { SupportBundle } from '../support/support-bundle.ts'
import { principalOf } from './principal.ts'

/** Shown of a file, from its end. */
const SHOWN_CHARS = 64 * 1024
const MAX_WITHOUT = 50

export interface SupportApiDeps {
  bundle: SupportBundle
  audit: { add(event: AuditEvent): void }
  /** A damaged store takes no entry; the bundle is written all the same. */
  store: { readonly damage: unknown }
}

/** What a person may send along with a question: shown first, written only where they say. */
export function supportApi({ bundle, audit, store }: SupportApiDeps): ServiceImpl<typeof SupportService> {
  return {
    previewBundle: async ({ insteadOf }, context) => {
      const { id, files, keptUntil } = await bundle.preview(principalOf(context).tenant, insteadOf)
      return {
        files: files.map(({ name, about, text, redacted }) => ({
          ...{ name, about, redacted, sizeBytes: BigInt(Buffer.byteLength(text)) },
          ...{ text: text.slice(-SHOWN_CHARS), cut: text.length > SHOWN_CHARS },
        })),
        suggestedPath: bundle.suggestedPath(),
        previewId: id,
        keptUntil: timestampFromMs(keptUntil),
      }
    },
    writeBundle: async (request, context) => {
      const { tenant } = principalOf(context)
      const without = new Set(request.without.slice(0, MAX_WITHOUT))
      const files = (await bundle.files(tenant, request.previewId)).filter(({ name }) => !without.has(name))
      if (files.length === 0) {
        const problem = 'every file is left out; keep at least one'
        throw new Fault('input/invalid', 'permanent', { field: 'without', problem })
      }
      const path = request.path || bundle.suggestedPath()
      const bytes = await archiveOf(files)
      const sha256 = await writeNew(path, bytes)
      if (!store.damage) audit.add({ action: 'support.bundle', tenant, detail: { path, sha256 } })
      return { path, sizeBytes: BigInt(bytes.length), sha256 }
    },
  }
}
