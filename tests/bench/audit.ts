import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditQuery } from '../../src/main/control/store/audit-query.ts'
import { openStores } from '../../src/main/control/store/stores.ts'
import { type BenchResult, median, result } from './measure.ts'

const ROWS = 1_000_000
const PAGE = 200
/** Of the slowest page, ms. */
const TARGET_MS = 100
const START_S = 1_700_000_000
const id = (n: number) => n.toString(16).padStart(32, '0')

/** A page of a trail of a million rows, whichever filter a person sets; the slowest of them. */
export async function benchAudit(say: (line: string) => void): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-bench-audit-'))
  const { db, audit } = openStores(join(dir, 'eitri.db'), { now: () => Date.now() })
  try {
    db.run(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
       INSERT INTO audit (at, action, tenant, vm_id, host_id, detail, user, client, request_id, before, after)
       SELECT strftime('%Y-%m-%dT%H:%M:%fZ', ${START_S} + i * 20, 'unixepoch'),
         iif(i = 5, 'tenant.create', iif(i % 3 = 0, 'vm.start', iif(i % 3 = 1, 'vm.stop', 'port.publish'))),
         iif(i % 1000 = 0, 'system', iif(i % 2 = 0, 'other', 'default')), printf('%032x', i % 500), printf('%032x', i % 10),
         '{"name":"web"}', 'alice', 'cli', printf('r-%d', i / 3), '{"power_state":"running"}', '{"power_state":"stopped"}'
       FROM n`,
    )
    const tenants = ['default', 'system']
    const at = (row: number) => new Date((START_S + row * 20) * 1000)
    const filters: Record<string, Omit<AuditQuery, 'limit' | 'tenants'>> = {
      newest: {},
      'far back': { beforeId: 1_000 },
      'one VM': { vmId: id(7) },
      'one host': { hostId: id(7) },
      'an action': { action: 'vm.stop' },
      'a rare action': { action: 'tenant.create' },
      'a noun': { action: 'vm.' },
      'a noun there is not': { action: 'image.' },
      'a request': { requestId: 'r-1001' },
      'since the beginning': { since: at(0) },
      'since just now': { since: at(ROWS - 10) },
      'a page of an export': { afterId: ROWS / 2 },
    }
    const ms = (query: AuditQuery) => {
      const started = performance.now()
      audit.list(query)
      return performance.now() - started
    }
    const taken = Object.entries(filters).map(([name, filter]) => {
      const times = Array.from({ length: 5 }, () => ms({ ...filter, tenants, limit: PAGE }))
      return { name, ms: median(times) }
    })
    for (const { name, ms: value } of taken) say(`audit_page: ${name} ${value.toFixed(1)} ms`)
    const slowest = taken.reduce((a, b) => (a.ms > b.ms ? a : b))
    const plain = median(Array.from({ length: 5 }, () => ms({ limit: PAGE })))
    const reference = { what: `the newest ${PAGE} of all`, value: plain }
    return [result('audit_page', 'ms', [slowest.ms, reference], { valueAtMost: TARGET_MS })]
  } finally {
    db.close()
    rmSync(dir, { recursive: true, force: true })
  }
}
