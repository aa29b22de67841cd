const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/

/** One word for a POSIX shell, quoted where it has to be. */
const shellWord = (word: string): string => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** Arguments as one line that a shell splits into the same arguments again. */
export const shellLine = (args: readonly string[]): string => args.map(shellWord).join(' ')
