/** After a hole in the text the modes a program had set are not known any more: leave alternate screen, mouse and paste modes. */
export const RESET_MODES = '\x1b[!p\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l'

/** Ends a control string that was left open, and every mode; the text stays. For the view alone: the guest hears nothing. */
export const RESET_VIEW = `\x18${RESET_MODES}\x1b(B\x1b)B\x0f\x1b[0m\x1b[?7h\x1b[?25h\r\n`

/** A remark of ours among the text of a guest. */
export const remark = (words: string): string => `\r\n\x1b[0;2m── ${words} ──\x1b[0m\r\n`
