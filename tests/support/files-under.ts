import { readdirSync } from 'node:fs'

/** More often than a directory can vanish in the middle of a look. */
const TRIES = 100

/** Every path below `dir`, relative to it, as of one moment: a look that something vanished from is taken again. */
export function filesUnder(dir: string): string[] {
  for (let tries = 1; ; tries++)
    try {
      return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === TRIES) throw error
    }
}
