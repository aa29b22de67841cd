import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { REPO } from './eitri.ts'
import { mustRun } from './run-program.ts'

const COPY_TIMEOUT_MS = 60_000

/**
 * A git clone of this checkout in a new folder, what is not committed left out. The installed packages are hard links of the
 * checkout's, which saves the minute `npm ci` takes; everything else, building included, happens in the clone.
 */
export async function cloneCheckout(): Promise<{ dir: string; remove(): void }> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-clone-'))
  const clone = path.join(dir, 'eitri')
  await mustRun('git', ['-c', 'safe.directory=*', 'clone', '-q', REPO, clone], { env: process.env })
  const packages = fs.realpathSync(path.join(REPO, 'node_modules'))
  await mustRun('cp', ['-al', packages, path.join(clone, 'node_modules')], { timeoutMs: COPY_TIMEOUT_MS })
  return { dir: clone, remove: () => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 }) }
}
