import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Fault } from '../../../../ipc/faults.ts'
import { isName, NAME_RULE } from '../../../../ipc/names.ts'

declare const __EITRI_VERSION__: string | undefined

const https = z.url({ protocol: /^https$/ })
const entry = z.strictObject({
  id: z.string().refine(isName, NAME_RULE),
  title: z.string().min(1),
  os: z.string().min(1),
  arch: z.enum(['x86_64', 'aarch64']),
  /** Of the newest build; what stands there is replaced by the next one. */
  url: https,
  digestsUrl: https,
  /** Of the publisher's list. */
  algorithm: z.enum(['sha256', 'sha512']),
  /** Where the publisher says which build is the newest, and the folder that keeps it. Absent = nowhere. */
  build: z.strictObject({ url: https, folder: z.string().regex(/^https:\/\/[^{}]+\{serial\}\/$/) }).optional(),
  aboutBytes: z.int().positive(),
  defaultVcpus: z.int().positive(),
  defaultMemMb: z.int().positive(),
  defaultDiskGb: z.int().positive(),
  description: z.string(),
})

/** A cloud image whose publisher this app knows. */
export type CatalogueEntry = z.infer<typeof entry>

/** The catalogue this build carries; asks nobody. Raises app/part-missing. */
export function readCatalogue(file = join(defaultAssets(), 'catalogue.json')): CatalogueEntry[] {
  try {
    return z.strictObject({ images: z.array(entry) }).parse(JSON.parse(readFileSync(file, 'utf8'))).images
  } catch (cause) {
    const params = { part: 'The catalogue of images', next: 'Install the app again.' }
    throw new Fault('app/part-missing', 'permanent', params, { cause })
  }
}

/** Raises image/not-in-catalogue. */
export function entryOf(entries: readonly CatalogueEntry[], id: string): CatalogueEntry {
  const found = entries.find((one) => one.id === id)
  if (!found) throw new Fault('image/not-in-catalogue', 'permanent', { entry: id.slice(0, 64) })
  return found
}

/** In a bundle the assets stand beside dist/main; from source at the top of the checkout. */
function defaultAssets(): string {
  const up = typeof __EITRI_VERSION__ === 'undefined' ? '../../../../..' : '..'
  return join(import.meta.dirname, up, 'assets')
}
