import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { readIfPresent, removeTree, writeDurable } from '../os/files.ts'

/** Where the bytes of an unfinished image come from, kept beside them: says whether a resume continues the same file. */
export interface PartOrigin {
  /** SHA-256 of the URL, which may hold secrets itself. */
  url: string
  /** A strong entity tag; '' = the server gave none. */
  etag: string
  /** As the server wrote it, where it can be relied on; '' = it cannot. */
  lastModified: string
}

/** An HTTP date tells two versions apart only when it is this much older than the answer. */
const DATE_RELIABLE_MS = 60_000
const MAX_VALIDATOR = 512

const OriginFile = z.object({ version: z.literal(1), url: z.string(), etag: z.string(), last_modified: z.string() })

/** The origin that an answer for `url` states. Weak entity tags say nothing about bytes and are left out. */
export function originOf(url: string, headers: IncomingHttpHeaders): PartOrigin {
  const tag = headers.etag ?? ''
  const modified = headers['last-modified'] ?? ''
  const age = Date.parse(headers.date ?? '') - Date.parse(modified)
  return {
    url: createHash('sha256').update(url).digest('hex'),
    etag: /^"[^"]*"$/.test(tag) && tag.length <= MAX_VALIDATOR ? tag : '',
    lastModified: age >= DATE_RELIABLE_MS && modified.length <= MAX_VALIDATOR ? modified : '',
  }
}

/** What If-Range may say for a resume from `url`; '' = nothing, the digest alone decides. */
export function ifRange(known: PartOrigin | undefined, url: string): string {
  if (known?.url !== originOf(url, {}).url) return ''
  return known.etag || known.lastModified
}

/** True when both name a version of the same URL and the versions differ. */
export function isOtherVersion(known: PartOrigin | undefined, now: PartOrigin): boolean {
  if (known?.url !== now.url) return false
  return known.etag !== '' && now.etag !== ''
    ? known.etag !== now.etag
    : known.lastModified !== '' && now.lastModified !== '' && known.lastModified !== now.lastModified
}

/** Undefined when there is none or it cannot be read: the digest decides then. */
export async function readOrigin(path: string): Promise<PartOrigin | undefined> {
  try {
    const bytes = await readIfPresent(path)
    if (bytes === undefined) return undefined
    const { url, etag, last_modified } = OriginFile.parse(JSON.parse(bytes.toString('utf8')))
    return { url, etag, lastModified: last_modified }
  } catch {
    return undefined
  }
}

/** Durable before the first byte it speaks of. */
export async function writeOrigin(path: string, { url, etag, lastModified }: PartOrigin): Promise<void> {
  const file: z.infer<typeof OriginFile> = { version: 1, url, etag, last_modified: lastModified }
  await writeDurable('image.origin', path, `${JSON.stringify(file)}\n`)
}

/** Idempotent. */
export const removeOrigin = (path: string): Promise<void> => removeTree('image.origin-discard', path)
