/** The entry of a table by a word from elsewhere; undefined also for words every object answers to, such as "constructor". */
export const lookup = <T>(table: Readonly<Partial<Record<string, T>>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined
