import type { CommandPart } from '../backends/backend.ts'

/** Where a part of a command line is: in what runs and in the next start, or in one of them alone. */
export type Where = 'both' | 'running' | 'next'

export interface ShownPart extends CommandPart {
  where: Where
}

/**
 * One list of both command lines in the order of what runs; what only the next start has stands behind what it replaces,
 * else behind its neighbour there. Pure.
 */
export function compareCommands(running: readonly string[], next: readonly CommandPart[]): ShownPart[] {
  const left = new Set(next)
  const shown: { part: ShownPart; source: CommandPart | undefined }[] = []
  for (let at = 0; at < running.length; ) {
    const found = [...left].find(({ args }) => args.every((arg, i) => running[at + i] === arg))
    if (found) {
      left.delete(found)
      shown.push({ part: { ...found, where: 'both' }, source: found })
      at += found.args.length
    } else {
      const args = strange(running, at, left)
      shown.push({ part: { args, why: 'not in the next start', where: 'running' }, source: undefined })
      at += args.length
    }
  }
  for (const part of left) {
    const replaced = shown.findLastIndex((one) => one.part.where === 'running' && one.part.args[0] === part.args[0])
    const before = next[next.indexOf(part) - 1]
    const behind = replaced >= 0 ? replaced : shown.findIndex((one) => one.source === before)
    shown.splice(behind + 1, 0, { part: { ...part, where: 'next' }, source: part })
  }
  return shown.map(({ part }) => part)
}

/** An option nobody knows, with all that can be its value. */
function strange(running: readonly string[], at: number, left: ReadonlySet<CommandPart>): string[] {
  const starts = (i: number) => running[i]!.startsWith('-') || [...left].some(({ args }) => args[0] === running[i])
  let end = at + 1
  while (end < running.length && !starts(end)) end++
  return running.slice(at, end)
}
