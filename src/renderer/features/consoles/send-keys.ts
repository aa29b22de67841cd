/** Keys as a terminal sends them, for those a keyboard or a browser keeps for itself. */
export interface SentKey {
  label: string
  /** What goes to the guest. */
  text: string
}

const control = (letter: string): SentKey => ({
  label: `Ctrl+${letter}`,
  text: String.fromCharCode(letter.charCodeAt(0) & 0x1f),
})

/** Ctrl chords that stop, end, pause or leave something. */
export const CONTROL_KEYS: readonly SentKey[] = [
  ...['C', 'D', 'Z', 'S', 'Q', 'L', 'A'].map(control),
  { label: 'Ctrl+\\', text: '\x1c' },
  { label: 'Ctrl+]', text: '\x1d' },
]

/** As xterm sends them without a modifier. */
export const FUNCTION_KEYS: readonly SentKey[] = [
  ...['P', 'Q', 'R', 'S'].map((end, i) => ({ label: `F${i + 1}`, text: `\x1bO${end}` })),
  ...[15, 17, 18, 19, 20, 21, 23, 24].map((code, i) => ({ label: `F${i + 5}`, text: `\x1b[${code}~` })),
]

export const OTHER_KEYS: readonly SentKey[] = [
  { label: 'Esc', text: '\x1b' },
  { label: 'Tab', text: '\t' },
]

/** What is asked for and cannot go over a serial line, in words. */
export const NOT_OVER_SERIAL =
  'A serial line carries characters alone: Ctrl+Alt+Del is a key of a screen keyboard, and break with SysRq is no character. To restart the VM use Restart; in a shell there, echo b > /proc/sysrq-trigger.'
