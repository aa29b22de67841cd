/**
 * The same words, with `--` before the command in `eitri ssh NAME COMMAND…`: its options are the guest's, as ssh has it.
 * `options` are those of eitri itself; true = a value follows.
 */
export function withGuestCommand(argv: readonly string[], options: ReadonlyMap<string, boolean>): string[] {
  let seen = 0
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string
    const takesValue = options.get(word)
    if (takesValue) at++
    if (takesValue !== undefined || isWithValue(word, options)) continue
    if (word === '--' || (seen === 0 && word !== 'ssh') || (seen === 1 && word.startsWith('-'))) break
    if (seen === 2) return [...argv.slice(0, at), '--', ...argv.slice(at)]
    seen++
  }
  return [...argv]
}

const isWithValue = (word: string, options: ReadonlyMap<string, boolean>): boolean =>
  options.get(/^(--[^=]+)=/.exec(word)?.[1] ?? '') === true
