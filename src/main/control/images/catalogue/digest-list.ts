/** A list of a release has some dozens. */
const MAX_LINES = 5_000
const HEX_CHARS = { sha256: 64, sha512: 128 } as const
/** As coreutils writes them: the digest, a blank, a blank or a star, the name. */
const LINE = /^([0-9a-f]+) [ *]([A-Za-z0-9._+~-]+)$/

/** What a publisher's list is digests of. */
export type ListAlgorithm = keyof typeof HEX_CHARS

export type DigestFound = { digest: string } | { problem: string }

/** The digest of one file in a publisher's list, or why the list cannot be believed. Every line of it must be one. */
export function digestIn(text: string, file: string, algorithm: ListAlgorithm): DigestFound {
  if (/^\s*</.test(text)) return { problem: WEB_PAGE }
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (lines.length > MAX_LINES) return { problem: `it has more than ${MAX_LINES} lines` }
  let digest: string | undefined
  for (const [index, line] of lines.entries()) {
    const [, hex = '', name] = LINE.exec(line) ?? []
    if (hex.length !== HEX_CHARS[algorithm])
      return { problem: `its line ${index + 1} is no ${algorithm === 'sha256' ? 'SHA-256' : 'SHA-512'} of a file` }
    if (name !== file) continue
    if (digest !== undefined && digest !== hex) return { problem: `it names ${file} twice with different digests` }
    digest = hex
  }
  return digest === undefined ? { problem: `it does not name ${file}` } : { digest }
}

/** Instead of a list or an image. */
export const WEB_PAGE = 'a web page came in its place, as networks with a sign-in page send'
