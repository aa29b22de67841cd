import { constants } from 'node:fs'
import { type FileHandle, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { KiB } from '../../../../ipc/units.ts'
import { readBounded } from '../../../bounded-file.ts'
import type { FolderWatch } from './folder-watch.ts'
import { ANSWER_MARK } from './programs.ts'

/** What ssh wants to know: the words of ASK_PROGRAM, in order. */
export type Asked =
  | { kind: 'prompt'; hint: string; text: string }
  /** `key` is empty while ssh only asks which types are known. */
  | { kind: 'host-key'; reason: string; type: string; key: Buffer; name: string }

/** Lines to print, undefined = no. */
export type DeskAnswer = readonly string[] | undefined

export interface AskDesk {
  /** Ends all questions with no. Idempotent. */
  close(): void
}

/** One dial asks for a few keys and secrets, through some hosts. */
export const MAX_QUESTIONS = 128
const ASKED_BYTES = 64 * KiB
const ANSWER_BYTES = 48 * KiB

/** Answers what ASK_PROGRAM lays down in the folder. */
export function openAskDesk(
  dir: string,
  changes: Pick<FolderWatch, 'onChange'>,
  answer: (asked: Asked) => Promise<DeskAnswer>,
): AskDesk {
  const seen = new Set<string>()
  const pipes = new Set<FileHandle>()
  let closed = false
  const serve = async (name: string) => {
    const asked = parseAsked(await readBounded(join(dir, name, 'asked'), ASKED_BYTES))
    if (!asked) return
    if (asked.kind === 'prompt' && asked.hint === 'none') return void (await answer(asked))
    // Both ways, so that opening it waits for nobody; it is closed with the desk, after its reader.
    const pipe = await open(join(dir, name, 'answer'), constants.O_RDWR | constants.O_NONBLOCK)
    pipes.add(pipe)
    const lines = await answer(asked).catch(() => undefined)
    await pipe.write(answerText(closed ? undefined : lines))
  }
  const look = async () => {
    for (const name of (await readdir(dir)).filter((name) => name.startsWith('q.') && !seen.has(name))) {
      if (seen.size >= MAX_QUESTIONS || closed) return
      seen.add(name)
      // A program that is gone has taken its question along.
      void serve(name).catch(() => {})
    }
  }
  const stop = changes.onChange(() => void look().catch(() => {}))
  return {
    close() {
      if (closed) return
      closed = true
      stop()
      for (const pipe of pipes) void pipe.close().catch(() => {})
    },
  }
}

/** Pure. Undefined for anything the program does not write. */
export function parseAsked(bytes: Buffer): Asked | undefined {
  const [kind, ...words] = bytes.toString('utf8').split('\0').slice(0, -1)
  if (kind === 'prompt' && words.length === 2) return { kind, hint: words[0]!, text: words[1]! }
  const [reason, type, key, name] = words
  if (kind !== 'host-key' || reason === undefined || type === undefined || !key || !name) return undefined
  return { kind, reason, type, key: key === 'NONE' ? Buffer.alloc(0) : Buffer.from(key, 'base64'), name }
}

/** Pure. What is more than a pipe holds is no. */
export function answerText(lines: DeskAnswer): string {
  if (!lines || lines.some((line) => /[\n\0]/.test(line))) return 'no\n'
  const text = `${lines.map((line) => `${ANSWER_MARK}${line}\n`).join('')}yes\n`
  return Buffer.byteLength(text) > ANSWER_BYTES ? 'no\n' : text
}
