import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buildTiny } from '../../src/main/control/images/tiny/build-tiny.ts'
import { silentStep } from './silent-step.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'out/cache/tiny')
const BUILD_TIMEOUT_MS = 300_000

/** Changes when what the image is made by changes; packages only change it when the cache is cleared. */
function sourcesKey(): string {
  const hash = createHash('sha256')
  for (const folder of ['src/main/control/images/tiny', 'assets/tiny'])
    for (const name of readdirSync(join(ROOT, folder)).sort()) hash.update(readFileSync(join(ROOT, folder, name)))
  return hash.digest('hex').slice(0, 16)
}

/** The tiny image as a file; built once for the same sources, in seconds. */
export async function tinyImageFile(): Promise<string> {
  const file = join(CACHE, `${sourcesKey()}.tar`)
  if (existsSync(file)) return file
  mkdirSync(CACHE, { recursive: true })
  const workDir = mkdtempSync(join(CACHE, 'build-'))
  try {
    const built = await buildTiny({
      workDir,
      cacheDir: join(CACHE, 'packages'),
      signal: AbortSignal.timeout(BUILD_TIMEOUT_MS),
      step: (_, run) => run(silentStep),
    })
    renameSync(built.file, file)
    return file
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
}
