import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './root.ts'

const LOCK_WAIT_MS = 180_000
const LOCK_POLL_MS = 100

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

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Runs with the build lock held; a lock whose process is gone is taken over. */
export async function withBuildLock(run: () => Promise<void>): Promise<void> {
  const lock = join(root, 'dist/.lock')
  mkdirSync(dirname(lock), { recursive: true })
  const until = Date.now() + LOCK_WAIT_MS
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      const holder = Number(read(lock) || process.pid)
      if (holder !== process.pid && !alive(holder)) rmSync(lock, { force: true })
      else if (Date.now() > until) throw new Error(`process ${holder} has held ${lock} for ${LOCK_WAIT_MS / 1000} s`)
      else await delay(LOCK_POLL_MS)
    }
  }
  try {
    await run()
  } finally {
    rmSync(lock, { force: true })
  }
}
