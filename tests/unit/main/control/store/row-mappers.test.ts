import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEFAULT_TENANT } from '../../../../../src/ipc/request-headers.ts'
import { openDatabase } from '../../../../../src/main/control/store/database-open.ts'
import { MIGRATIONS } from '../../../../../src/main/control/store/migrations.ts'
import type { Stores } from '../../../../../src/main/control/store/stores.ts'
import { fillTables, schemaFile } from '../../../../support/schema-rows.ts'
import { aStore, aTempDir } from '../a-store.ts'

type Raw = Record<string, unknown>

interface Mapper {
  read(stores: Stores): unknown
  /** Read and written by SQL alone. */
  sqlOnly?: string[]
  /** Of the query, not of the table. */
  computed?: string[]
}

const MAPPERS: Record<string, Mapper> = {
  hosts: { read: ({ hosts }) => hosts.listAll(), sqlOnly: ['sent_digest'] },
  vms: { read: ({ vms }) => vms.listAll() },
  images: { read: ({ images }) => images.list() },
  exposures: { read: ({ exposures }) => exposures.listByHost(`${'a'.repeat(31)}1`) },
  // A question lives no longer than the process that asked.
  tasks: { read: ({ tasks }) => tasks.list(DEFAULT_TENANT), sqlOnly: ['question'] },
  tenants: {
    read: ({ tenants }) => tenants.list(),
    computed: ['disk_gb', 'hosts', 'mem_mb', 'vcpus', 'vms'],
  },
  join_tokens: { read: ({ joinTokens }) => joinTokens.list(DEFAULT_TENANT) },
  host_keys: { read: ({ hostKeys }) => hostKeys.list('host_keys host 1', 11) },
  audit: { read: ({ audit }) => audit.list({ limit: 2 }) },
  cas: { read: ({ cas }) => cas.list(DEFAULT_TENANT) },
  certificates: {
    read: ({ certificates }) => certificates.list(DEFAULT_TENANT, { ended: true, limit: 9 }),
    computed: ['ca_fingerprint', 'revoked_at'],
  },
  revoked_certificates: { read: ({ certificates }) => certificates.listRevoked(DEFAULT_TENANT) },
}
/** Never read as rows: one value at a time. */
const NO_ROWS = ['settings', 'sent_snapshots']
/** Their stores are not there yet. */
const COMING = ['templates']

/** A store whose every table has two rows without an empty column. */
function filled(): Stores {
  const file = join(aTempDir(), 'eitri.db')
  const handle = schemaFile(file, MIGRATIONS.length)
  fillTables(handle)
  handle.close()
  return aStore(file)
}

/** Names read off the rows that the store's queries gave. */
function namesRead(stores: Stores, read: (stores: Stores) => unknown): string[] {
  const names = new Set<string>()
  const spied = (row: Raw) =>
    new Proxy(row, {
      get(target, key) {
        if (typeof key === 'string') names.add(key)
        return Reflect.get(target, key) as unknown
      },
    })
  const { db } = stores
  const list = db.list.bind(db)
  Object.assign(db, { list: (...args: Parameters<typeof list>) => list<Raw>(...args).map(spied) })
  expect(read(stores)).not.toEqual([])
  return [...names].sort()
}

describe('a row of the store', () => {
  const memory = openDatabase(':memory:')
  const columns = (table: string) =>
    memory.list<{ name: string }>('SELECT name FROM pragma_table_info($table)', { table }).map(({ name }) => name)

  it.each(Object.entries(MAPPERS))('of %s is made of exactly the columns its table has', (table, mapper) => {
    const { read, sqlOnly = [], computed = [] } = mapper
    const expected = [...columns(table).filter((name) => !sqlOnly.includes(name)), ...computed]
    expect(namesRead(filled(), read)).toEqual(expected.sort())
  })

  it('is read from every table there is', () => {
    const tables = memory
      .list<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .map(({ name }) => name)
    expect(tables.sort()).toEqual([...Object.keys(MAPPERS), ...NO_ROWS, ...COMING].sort())
  })
})
