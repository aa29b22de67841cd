import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { NewImage } from '../../../../src/main/control/store/images-store.ts'
import { openStores, type Stores } from '../../../../src/main/control/store/stores.ts'
import { anId } from '../../../support/store-rows.ts'

export { aHost, anId, aVm } from '../../../support/store-rows.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup()
})

export function aTempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-store-'))
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export const START = Date.UTC(2026, 0, 2, 3, 4, 5)

/** Real stores on a SQLite file of their own, and a clock the test sets. */
export function aStore(file = join(aTempDir(), 'eitri.db')): Stores & { file: string; time: { now: number } } {
  const time = { now: START }
  const stores = openStores(file, { now: () => time.now })
  cleanups.push(() => stores.db.close())
  return { ...stores, file, time }
}

export function anImage(change: Partial<NewImage> = {}): NewImage {
  const id = change.id ?? anId()
  return {
    id,
    name: `image-${id.slice(-6)}`,
    kind: 'disk',
    format: '',
    arch: 'x86_64',
    url: 'https://images.example.test/debian.qcow2',
    sha256: id.padStart(64, '0'),
    sizeBytes: null,
    defaultVcpus: 0,
    defaultMemMb: 0,
    defaultDiskGb: 0,
    description: '',
    ...change,
  }
}

/** The code and params of the fault that `work` raises. */
export function faultOf(work: () => unknown): { code: string; params: Record<string, string> } {
  try {
    work()
  } catch (error) {
    return error as { code: string; params: Record<string, string> }
  }
  throw new Error('nothing was raised')
}
