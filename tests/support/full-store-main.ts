import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { findFault } from '../../src/ipc/faults.ts'
import { storeState } from '../../src/main/control/api/store-api.ts'
import { openStores } from '../../src/main/control/store/stores.ts'
import { Registry } from '../../src/main/control/sync/registry.ts'
import { aHost, aVm } from './store-rows.ts'

/** A store's life on the small disk named by the first argument, as one JSON document: what it took, refused and kept. */
const dir = process.argv[2] ?? ''
const file = join(dir, 'data', 'eitri.db')
const ballast = join(dir, 'ballast')
const clock = { now: () => Date.now() }

function fill(): void {
  try {
    for (const size of [65_536, 4_096, 512]) for (let n = 0; n < 10_000; n++) appendTo(size)
  } catch {
    // Full.
  }
}
function appendTo(size: number): void {
  try {
    appendFileSync(ballast, Buffer.alloc(size))
  } catch (error) {
    if (size === 512) throw error
  }
}
const said = (error: unknown) => {
  const { code, disposition, params } = findFault(error) ?? {
    code: String(error),
    disposition: '',
    params: {} as Record<string, string>,
  }
  return { code, disposition, detail: params['detail'] ?? '' }
}

const stores = openStores(file, clock)
const state = () => storeState({ stores, registry: new Registry() }, 'default')
const names = () =>
  stores.vms
    .listAll()
    .map(({ name }) => name)
    .sort()
const host = stores.hosts.create(aHost())
const took: string[] = []
const take = (name: string) =>
  took.push(stores.vms.create(aVm(host.id, { name, cloudInit: Buffer.alloc(32_000, 1) })).name)
take('first')
fill()
let refused: unknown
for (let n = 0; n < 2_000 && !refused; n++)
  try {
    take(`vm-${n}`)
  } catch (error) {
    refused = said(error)
  }
const full = { state: state(), names: names(), took: [...took].sort() }
let copied: unknown
try {
  stores.db.copyInto(join(dir, 'data', 'copy'))
} catch (error) {
  copied = said(error)
}
const left = existsSync(join(dir, 'data', 'copy'))
rmSync(ballast)
take('after')
const after = { state: state() }
stores.db.close()
const again = openStores(file, clock)
const kept = again.vms
  .listAll()
  .map(({ name }) => name)
  .sort()
process.stdout.write(
  JSON.stringify({ refused, full, copied, left, after, took: took.sort(), kept, damage: again.db.damage }),
)
again.db.close()
