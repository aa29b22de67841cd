const PREFIX = 0x1d
const HELP = 'Ctrl-] then q leaves, k takes the keyboard, Ctrl-] sends itself.'

export interface KeyActions {
  send(bytes: Uint8Array): void
  leave(): void
  takeKeyboard(): void
  help(text: string): void
}

export const CONSOLE_KEYS_HELP = HELP

/** Finds the escape Ctrl-] in what is typed at a terminal; everything else goes to the guest. */
export function consoleKeys(actions: KeyActions): (chunk: Uint8Array) => void {
  let escaped = false
  return (chunk) => {
    let from = 0
    const flush = (to: number) => {
      if (to > from) actions.send(chunk.subarray(from, to))
      from = to
    }
    for (let i = 0; i < chunk.length; i++) {
      const key = chunk[i]
      if (!escaped) {
        if (key !== PREFIX) continue
        flush(i)
        from = i + 1
        escaped = true
        continue
      }
      escaped = false
      from = i + 1
      if (key === PREFIX) from = i
      else if (key === 0x71 || key === 0x2e) actions.leave()
      else if (key === 0x6b) actions.takeKeyboard()
      else actions.help(HELP)
    }
    if (!escaped) flush(chunk.length)
  }
}

/** Answers of a terminal to queries: cursor and device reports, and control strings. */
const ANSWERS = /\x1b\[[?>=]?[\d;]*[Rcnty]|\x1b[P\]][^\x1b\x07]*(?:\x1b\\|\x07)/g

/** What a person typed, without what the terminal answered to queries in replayed text. */
export function withoutAnswers(chunk: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(chunk).toString('latin1').replace(ANSWERS, ''), 'latin1')
}
