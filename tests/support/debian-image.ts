import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildDebian } from '../../src/main/control/images/debian/build-debian.ts'
import { exclusively } from './exclusive.ts'
import { silentStep } from './silent-step.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(tmpdir(), 'eitri-debian-images')
const SOURCES = ['src/main/control/images/debian', 'assets/debian']
/** A build takes one or two minutes with the machine to itself. */
const BUILD_TIMEOUT_MS = 600_000
const OLD_MS = 24 * 3_600_000

export interface DebianImageFile {
  path: string
  sha256: string
}

/** Changes when what the image is made by changes; packages only change it when the cache is cleared. */
function sourcesKey(): string {
  const hash = createHash('sha256')
  for (const folder of SOURCES)
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).sort()) {
      const file = join(ROOT, folder, name)
      if (statSync(file).isFile()) hash.update(`${name}\0`).update(readFileSync(file))
    }
  return hash.digest('hex').slice(0, 16)
}

/** The Debian image as a file nobody may change; built once on this machine for the same sources, whoever asks first. */
export async function debianImage(): Promise<DebianImageFile> {
  mkdirSync(CACHE, { recursive: true })
  const key = sourcesKey()
  return (
    whole(key) ??
    (await exclusively(join(CACHE, `${key}.lock`), async () => whole(key) ?? build(key), BUILD_TIMEOUT_MS))
  )
}

function whole(key: string): DebianImageFile | undefined {
  const name = readdirSync(CACHE).find((file) => file.startsWith(`${key}-`) && file.endsWith('.qcow2'))
  return name === undefined
    ? undefined
    : { path: join(CACHE, name), sha256: name.slice(key.length + 1, -'.qcow2'.length) }
}

async function build(key: string): Promise<DebianImageFile> {
  removeOld()
  const workDir = mkdtempSync(join(CACHE, 'build-'))
  try {
    const built = await buildDebian({
      workDir,
      signal: AbortSignal.timeout(BUILD_TIMEOUT_MS),
      step: (_, run) => run(silentStep),
    })
    const path = join(CACHE, `${key}-${built.sha256}.qcow2`)
    renameSync(built.file, path)
    return { path, sha256: built.sha256 }
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
}

/** Images of sources nobody has any more, and what builds that were killed left. */
function removeOld(): void {
  for (const name of readdirSync(CACHE)) {
    const file = join(CACHE, name)
    if (existsSync(file) && Date.now() - statSync(file).mtimeMs > OLD_MS) rmSync(file, { recursive: true, force: true })
  }
}
