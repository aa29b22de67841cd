// One holder of a file at a time among processes of this checkout. Uses no packages: run.mjs needs it before there are any.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const POLL_MS = 100
/** A lock without a pid this long after it was made was left by a process that died in between. */
const HALF_WRITTEN_MS = 1000

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** True when the lock was left by a process that is gone. */
function isLeftover(file) {
  try {
    const holder = Number(readFileSync(file, 'utf8').trim() || 'NaN')
    return Number.isNaN(holder) ? Date.now() - statSync(file).mtimeMs > HALF_WRITTEN_MS : !alive(holder)
  } catch {
    return false
  }
}

/** Waits for the lock, blocking; its result releases it. Throws when another process still holds it after `waitMs`. */
export function takeLock(file, waitMs) {
  mkdirSync(dirname(file), { recursive: true })
  const until = Date.now() + waitMs
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' })
      return () => rmSync(file, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isLeftover(file)) rmSync(file, { force: true })
    else if (Date.now() > until) throw new Error(`${file} has been held for ${waitMs / 1000} s by another process`)
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS)
  }
}
