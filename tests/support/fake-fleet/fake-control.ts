import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ConnectRouter } from '@connectrpc/connect'
import { toConnectError } from '../../../src/ipc/fault-wire.ts'
import { Fault } from '../../../src/ipc/faults.ts'
import { type AuditEntry, AuditService, type ListAuditRequest } from '../../../src/ipc/gen/eitri/fleet/v1/audit_pb.js'
import { StoreService } from '../../../src/ipc/gen/eitri/fleet/v1/store_pb.js'
import { SupportService } from '../../../src/ipc/gen/eitri/fleet/v1/support_pb.js'
import { TenantSchema, TenantService } from '../../../src/ipc/gen/eitri/fleet/v1/tenant_pb.js'
import type { FakeFleet } from './fake-fleet.ts'

/** What a fake control plane says of itself: its trail, its store, its tenants and what it would send along. */
export class FakeControl {
  retentionDays = 365
  storeProblem = ''
  tenants = [
    create(TenantSchema, { name: 'default', hosts: 5, vms: 14 }),
    create(TenantSchema, { name: 'lab', limits: { graceS: 86_400 } }),
  ]

  /** One of them answers before the others of its name do. */
  routes(router: ConnectRouter, fleet: FakeFleet): void {
    const seen = <R, A>(method: string, answer: (request: R) => A) => {
      return (request: R): A => {
        fleet.calls.push({ method, request })
        return answer(request)
      }
    }
    router.service(AuditService, {
      listAudit: seen('listAudit', (request: ListAuditRequest) => pageOf(fleet.audit, request)),
      exportAudit: async function* () {
        yield { entries: [...fleet.audit].reverse() }
      },
      setAuditRetention: seen('setAuditRetention', ({ days }) => {
        if (days !== undefined) this.retentionDays = days
        return { days: this.retentionDays }
      }),
    })
    router.service(TenantService, {
      listTenants: () => ({ tenants: this.tenants }),
      updateTenant: seen('updateTenant', ({ name, limits }) => {
        const tenant = this.tenants.find((one) => one.name === name)!
        Object.assign(tenant, { limits: { ...tenant.limits, ...limits } })
        return { tenant }
      }),
    })
    router.service(StoreService, {
      getStore: () => ({
        ...{ path: '/home/ada/.local/share/eitri/eitri.db', schema: 24, sizeBytes: 4_812_800n, writes: 1204n },
        ...{
          problem: this.storeProblem,
          readOnlyReason: this.storeProblem === 'damaged' ? 'a page of it is not what was written' : '',
        },
        copies: [
          {
            path: '/home/ada/backup/eitri-2026-11-28.db',
            sizeBytes: 4_700_000n,
            schema: 24,
            madeAt: timestampFromMs(Date.now() - 2 * 864e5),
          },
          {
            path: '/home/ada/.local/share/eitri/eitri.db.before-24',
            sizeBytes: 4_100_000n,
            schema: 23,
            madeAt: timestampFromMs(Date.now() - 9 * 864e5),
          },
        ],
      }),
      backupStore: seen('backupStore', ({ path }) => ({
        ...{ path, sizeBytes: 4_812_800n, sha256: 'a1b2'.repeat(16) },
        needs: ['The keys of the 2 SSH authorities in /home/ada/.local/share/eitri/cas.'],
      })),
    })
    router.service(SupportService, {
      previewBundle: seen('previewBundle', () => ({
        previewId: 'shown-1',
        keptUntil: timestampFromMs(Date.now() + 600_000),
        files: FILES,
        suggestedPath: '/home/ada/eitri-support-2026-12-01-140211.tar.gz',
      })),
      writeBundle: seen('writeBundle', ({ path }) => {
        if (path.includes('taken'))
          throw toConnectError(
            new Fault('support/not-written', 'permanent', { path, detail: 'there is a file of that name' }),
          )
        return { path, sizeBytes: 41_200n, sha256: 'c3d4'.repeat(16) }
      }),
    })
  }
}

function pageOf(
  audit: readonly AuditEntry[],
  { limit, beforeId, requestId, action, vm, host, result }: ListAuditRequest,
) {
  const from = beforeId === '' ? 0 : audit.findIndex(({ id }) => id === beforeId) + 1
  const matching = audit
    .slice(from)
    .filter((entry) => requestId === '' || entry.requestId === requestId)
    .filter(
      (entry) => action === '' || (action.endsWith('.') ? entry.action.startsWith(action) : entry.action === action),
    )
    .filter((entry) => result === '' || entry.result === result)
    .filter((entry) => (vm === '' || entry.vmId === vm) && (host === '' || entry.hostId === host))
  const most = limit || 200
  const entries = matching.slice(0, most)
  return { entries, nextBeforeId: matching.length > most ? (entries.at(-1)?.id ?? '') : '' }
}

const FILES = [
  {
    ...{
      name: 'about.txt',
      about: 'This app and the computer it runs on: versions and sizes.',
      sizeBytes: 612n,
      cut: false,
    },
    ...{ redacted: {}, text: 'Eitri\n  version: 0.1.0\n  platform: linux\n  arch: x64\n  node: 24.4.1\n' },
  },
  {
    ...{
      name: 'hosts.txt',
      about: 'Hosts: how they are reached, what keeps them from answering, what they have.',
      cut: false,
    },
    ...{ sizeBytes: 4_210n, redacted: { name: 12, address: 7, user: 6, key: 5 } },
    text: 'host-1\n  status: enrolled\n  link: connected\n  address: user-1@address-1\n  agent: 0.1.0\nhost-2\n  link: unreachable\n  fault: host/unreachable\n  fault said: timed out\n',
  },
  {
    ...{
      name: 'audit.txt',
      about: 'The newest entries of the trail: what was asked, not with which values.',
      cut: false,
    },
    ...{ sizeBytes: 18_400n, redacted: { name: 214, user: 98, text: 301 } },
    text: '2026-12-01T13:58:02.000Z vm.create vm-4 host-1 by user-1 from app request-12\n',
  },
  {
    ...{
      name: 'log.txt',
      about: 'The end of the log of the control plane, oldest first.',
      sizeBytes: 96_000n,
      cut: true,
    },
    ...{ redacted: { secret: 1, address: 12, name: 148, text: 33 } },
    text: '2026-12-01T13:57:41.120Z info link ended host=host-2 code=host/unreachable livedMs=184200\n',
  },
]
