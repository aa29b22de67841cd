/** What a terminal's parser offers. */
interface OscParser {
  registerOscHandler(ident: number, handler: (data: string) => boolean): unknown
}

export interface OscPolicy {
  /** A guest may put text on the clipboard; it may never read it. */
  clipboardWrites: boolean
}

const MAX_CLIPBOARD_CHARS = 100_000

/**
 * What a guest may ask of this computer by escape sequences. OSC 52: reading the clipboard is refused always, writing
 * unless switched on for this console. Titles are only shown, never reported back: `windowOptions` stay off.
 */
export function installOscPolicy(parser: OscParser, policy: OscPolicy, onClipboard: (text: string) => void): void {
  parser.registerOscHandler(52, (data) => {
    const text = clipboardText(data)
    if (policy.clipboardWrites && text !== undefined) onClipboard(text)
    // Taken, so that nothing else answers.
    return true
  })
}

/** Of `c;BASE64`; undefined for a question, or what is no text. */
function clipboardText(data: string): string | undefined {
  const encoded = data.slice(data.indexOf(';') + 1)
  if (encoded === '?' || encoded === '' || encoded.length > (MAX_CLIPBOARD_CHARS * 4) / 3) return undefined
  try {
    const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The only addresses a link of a guest may lead to. */
export const isWebAddress = (uri: string): boolean => {
  try {
    return /^https?:$/.test(new URL(uri).protocol)
  } catch {
    return false
  }
}

const MAX_TITLE_CHARS = 60

/** A title a guest gave itself, as it may be shown in quotes: on one line, short, nothing invisible. */
export function shownTitle(title: string): string {
  const plain = title.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim()
  return plain.length > MAX_TITLE_CHARS ? `${plain.slice(0, MAX_TITLE_CHARS - 1)}…` : plain
}
