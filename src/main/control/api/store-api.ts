import { createHash } from 'node:crypto'
import { createReadStream, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, resolve } from 'node:path'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { Clock } from '../../../ipc/base/clock.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import type { StoreService } from '../../../ipc/gen/eitri/fleet/v1/store_pb.js'
import { SYSTEM_TENANT } from '../../../ipc/request-headers.ts'
import { type RebuildDeps, rebuildStore } from '../rebuild/rebuild-store.ts'
import { type Copy, copiesBeside, copyAt } from '../store/backup.ts'
import { MIGRATIONS } from '../store/migrations.ts'
import type { Stores } from '../store/stores.ts'
import { hasNewer } from '../sync/newer-data.ts'
import type { Registry } from '../sync/registry.ts'
import { seenBy } from '../sync/seen.ts'
import { principalOf } from './principal.ts'

const MAX_COPIES = 50
/** Paths people chose, newest first. */
const COPIES = 'copies'

export interface StoreApiDeps {
  stores: Stores
  registry: Registry
  /** Of the database. */
  file: string
  /** What a restore elsewhere needs beside a copy, one sentence each. */
  needs(): string[]
  clock: Pick<Clock, 'now'>
  log: RebuildDeps['log']
}

/** What is wrong with the store, and since that what cannot be done. Empty = nothing. Hosts are the tenant's. */
export function storeState(
  { stores: { db, hosts }, registry }: Pick<StoreApiDeps, 'stores' | 'registry'>,
  tenant: string,
) {
  const ahead = hosts.list(tenant).filter((host) => hasNewer(hosts, host, seenBy(registry.live(host.id))))
  const { damage, full } = db
  const problem = damage ? 'damaged' : full !== '' ? 'disk_full' : ahead.length > 0 ? 'older_than_hosts' : ''
  const readOnlyReason = damage?.reason ?? (full === '' ? '' : `the last change could not be written: ${full}`)
  return { problem, readOnlyReason, hostsAhead: ahead.map(({ name }) => name), lost: [...(damage?.lost ?? [])] }
}

/** The database itself: copies of it, what is wrong with it, and a new one in place of a damaged one. */
export function storeApi(deps: StoreApiDeps): ServiceImpl<typeof StoreService> {
  const { stores, file, clock } = deps
  return {
    getStore: (_, context) => ({
      path: file,
      schema: MIGRATIONS.length,
      sizeBytes: BigInt(sizeOf(file)),
      ...storeState(deps, principalOf(context).tenant),
      copies: copiesOf(stores, file).map(copyMessage),
      writes: BigInt(stores.db.writes),
    }),
    backupStore: async ({ path }) => {
      const target = checkedTarget(path, file)
      copyOut(stores, target)
      const sha256 = await digestOf(target)
      remember(stores, target)
      stores.audit.add({ action: 'store.backup', tenant: SYSTEM_TENANT, detail: { path: target, sha256 } })
      return { path: target, sizeBytes: BigInt(sizeOf(target)), sha256, needs: deps.needs() }
    },
    rebuildStore: () => rebuildStore({ ...deps, clock }),
  }
}

/** What stops a copy is where it goes: the store itself is not what failed. Raises store/not-backed-up, input/invalid. */
function copyOut({ db }: Pick<Stores, 'db'>, path: string): void {
  try {
    db.copyInto(path)
  } catch (cause) {
    const { code, cause: said } = asFault(cause)
    if (code !== 'store/unavailable') throw cause
    const detail = said instanceof Error ? said.message : ''
    throw new Fault('store/not-backed-up', 'permanent', { path: path.slice(0, 200), detail }, { cause })
  }
}

function checkedTarget(path: string, file: string): string {
  const problem = !isAbsolute(path)
    ? 'use an absolute path'
    : path.length > 1_000 || path.includes('\0')
      ? 'it is no path'
      : basename(resolve(path)).startsWith(basename(file)) && folderOf(path) === folderOf(file)
        ? 'that name is kept for the store itself'
        : undefined
  if (problem) throw new Fault('input/invalid', 'permanent', { field: 'path', problem, value: path.slice(0, 200) })
  return resolve(path)
}

/** Whatever links lead there. */
function folderOf(path: string): string {
  const folder = resolve(path, '..')
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

function copiesOf(stores: Stores, file: string): Copy[] {
  const chosen = remembered(stores).flatMap((path) => copyAt(path) ?? [])
  return [...chosen, ...copiesBeside(file)].sort((a, b) => b.madeAt.getTime() - a.madeAt.getTime()).slice(0, MAX_COPIES)
}

function remembered({ settings }: Stores): string[] {
  try {
    const paths: unknown = JSON.parse(settings.find(COPIES) ?? '[]')
    return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : []
  } catch {
    return []
  }
}

function remember(stores: Stores, path: string): void {
  const paths = [path, ...remembered(stores).filter((other) => other !== path)].slice(0, MAX_COPIES)
  stores.settings.set(COPIES, JSON.stringify(paths))
}

const copyMessage = ({ path, sizeBytes, schema, madeAt }: Copy) => ({
  path,
  sizeBytes: BigInt(sizeBytes),
  schema,
  madeAt: timestampFromDate(madeAt),
})

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
