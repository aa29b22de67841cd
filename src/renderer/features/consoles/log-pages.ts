/** Bytes of a log that are held and shown at once. */
export const LOG_PAGE_BYTES = 256n * 1024n

export interface LogPage {
  from: bigint
  /** The byte behind the last. */
  until: bigint
}

/** The page that ends there; undefined = there is nothing before. Pure. */
export function pageBefore(until: bigint, head: bigint): LogPage | undefined {
  if (until <= head) return undefined
  const from = until - LOG_PAGE_BYTES
  return { from: from > head ? from : head, until }
}

/** The page that begins there; undefined = there is nothing after. Pure. */
export function pageAfter(from: bigint, end: bigint): LogPage | undefined {
  if (from >= end) return undefined
  const until = from + LOG_PAGE_BYTES
  return { from, until: until < end ? until : end }
}

const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[P^_X][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])/g

/** What a guest wrote, as lines to read: without escape sequences, and of a line that was written over the last state. Pure. */
export function logLines(bytes: Uint8Array): string[] {
  const text = new TextDecoder().decode(bytes).replace(ESCAPES, '')
  const lines = text.split(/\r*\n/).map((line) => line.replace(/\r+$/, '').split('\r').at(-1) ?? '')
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line) => line.replace(/[\0-\x08\x0b-\x1f\x7f]/g, ''))
}

/** Lines that have the words, with their place; all of them without words. Pure. */
export function linesWith(lines: readonly string[], words: string): { number: number; text: string }[] {
  const needle = words.trim().toLowerCase()
  return lines.flatMap((text, i) =>
    needle === '' || text.toLowerCase().includes(needle) ? [{ number: i + 1, text }] : [],
  )
}
