/** Text that could do more than fill in one line: several lines, or control characters other than a tab. */
export function needsGuard(text: string): boolean {
  return /[\r\n]/.test(text.replace(/\r?\n$/, '')) || /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(text)
}

/** The text with its control characters made visible, for the preview. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[\0-\x08\x0b-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
}
