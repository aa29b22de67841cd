import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { takeLock } from './lock.mjs'
import { root } from './root.ts'

const LOCK_WAIT_MS = 180_000

function files(path: string): string[] {
  const stat = statSync(join(root, path), { throwIfNoEntry: false })
  if (!stat) return []
  if (!stat.isDirectory()) return [path]
  return readdirSync(join(root, path)).flatMap((name) => files(join(path, name)))
}

function key(inputs: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of inputs.flatMap(files).sort()) {
    const { mtimeMs, size } = statSync(join(root, path))
    hash.update(`${path}\0${mtimeMs}\0${size}\n`)
  }
  return hash.digest('hex')
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

/** Compares paths, times and sizes of the inputs with those of the last build. Take it before building: an edit made meanwhile then counts as new. */
export function ifStale(
  target: string,
  inputs: readonly string[],
  output: string,
): { stale: boolean; markFresh(): void } {
  const stamp = join(root, 'dist/.stamps', target)
  const now = key(inputs)
  return {
    stale: read(stamp) !== now || !existsSync(join(root, output)),
    markFresh() {
      mkdirSync(dirname(stamp), { recursive: true })
      writeFileSync(stamp, `${now}\n`)
    },
  }
}

/** Runs with the build lock held. */
export async function withBuildLock(run: () => Promise<void>): Promise<void> {
  const release = takeLock(join(root, 'dist/.lock'), LOCK_WAIT_MS)
  try {
    await run()
  } finally {
    release()
  }
}
