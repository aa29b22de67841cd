import { createHash } from 'node:crypto'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { TrustService } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { connectName, DEFAULT_LOGIN } from '../../../ipc/names.ts'
import { check } from '../../../ipc/rules.ts'
import type { CaRow, CasStore } from '../store/cas-store.ts'
import type { CertificatesStore } from '../store/certificates-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { VmsStore } from '../store/vms-store.ts'
import type { Registry } from '../sync/registry.ts'
import { createCa, importCa, retireCa, useCa, usedBy } from '../trust/ca-admin.ts'
import { revoke } from '../trust/revocations.ts'
import type { Trust } from '../trust/trust.ts'
import { caView, certificateView, revokedView, vmTrustView } from '../trust/trust-view.ts'
import { guestTrustView } from '../trust/vm-trust-view.ts'
import { principalOf } from './principal.ts'

export interface TrustApiDeps {
  cas: CasStore
  certificates: CertificatesStore
  vms: VmsStore
  registry: Registry
  trust: Trust
  clock: Clock
  /** Of the tenant, not deleted, by name or id. Raises vm/not-found, vm/deleted, vm/unowned. */
  getVm(tenant: string, ref: string): VmRow
}

const DEFAULT_LIMIT = 200

/** SSH authorities and certificates of a tenant. Private keys come in and never go out. */
export function trustApi(deps: TrustApiDeps): ServiceImpl<typeof TrustService> {
  const { cas, certificates, vms, registry, trust, clock } = deps
  const { admin } = trust
  const view = (ca: CaRow) => caView(ca, usedBy(ca, vms.list(ca.tenant)), admin.authorities.problem(ca))
  const tenantOf = (context: HandlerContext) => principalOf(context).tenant
  const certified = (ca: CaRow) => {
    // Guests that hold a certificate of a CA that is not in use any more get another.
    if (ca.kind === 'host') {
      trust.certifier.forget()
      trust.certifier.checkAll()
    }
    return view(ca)
  }
  return {
    listCas: async (_, context) => {
      const rows = cas.list(tenantOf(context))
      await admin.authorities.openAll(rows)
      const rowsOfVms = vms.list(tenantOf(context))
      return { cas: rows.map((ca) => caView(ca, usedBy(ca, rowsOfVms), admin.authorities.problem(ca))) }
    },
    createCa: async (request, context) => {
      const { ca, created } = await createCa(admin, { ...check('createCa', request), tenant: tenantOf(context) })
      return { ca: view(ca), created }
    },
    importCa: async (request, context) => {
      const { ca, created } = await importCa(admin, { ...check('importCa', request), tenant: tenantOf(context) })
      return { ca: view(ca), created }
    },
    setSigningCa: async (request, context) => ({
      ca: view(await useCa(admin, tenantOf(context), check('caRef', request).ca)),
    }),
    retireCa: async (request, context) => {
      const { ca: ref, force } = check('retireCa', request)
      const { ca, cutOff } = await retireCa(admin, tenantOf(context), ref, force)
      return { ca: certified(ca), cutOff }
    },
    issueCertificate: async (request, context) => {
      const tenant = tenantOf(context)
      const checked = check('issueCertificate', { ...request, login: request.login || DEFAULT_LOGIN })
      const vm = checked.vm === '' ? undefined : deps.getVm(tenant, checked.vm)
      const login = await trust.issueLogin({ tenant, vm, login: checked.login, publicKey: checked.publicKey })
      return {
        certificate: login.certificate,
        issued: certificateView(login.row),
        sshName: vm ? connectName(tenant, vm.name) : '',
        knownHosts: login.knownHosts,
        clockDetail: login.clockDetail,
      }
    },
    listCertificates: (request, context) => {
      const { kind, expired, limit, serial } = check('listCertificates', request)
      if (serial !== '') {
        const row = certificates.find(tenantOf(context), serial)
        return { certificates: row ? [certificateView(row)] : [] }
      }
      const query = { ...(kind ? { kind } : {}), ended: expired, limit: limit || DEFAULT_LIMIT }
      return { certificates: certificates.list(tenantOf(context), query).map(certificateView) }
    },
    revokeCertificate: (request, context) => {
      const checked = check('revokeCertificate', request)
      return { revoked: revokedView(revoke({ cas, certificates }, { ...checked, tenant: tenantOf(context) })) }
    },
    listRevoked: (_, context) => {
      const tenant = tenantOf(context)
      const krl = trust.krl(tenant)
      const revoked = certificates.listRevoked(tenant).map(revokedView)
      return { revoked, krlSha256: krl.length === 0 ? '' : createHash('sha256').update(krl).digest('hex') }
    },
    listTrust: async (_, context) => {
      const tenant = tenantOf(context)
      const inUse = cas.inUse(tenant, 'user')
      await admin.authorities.openAll(inUse)
      const isUsable = (ca: CaRow) => admin.authorities.key(ca) !== undefined
      const live = vms.list(tenant).filter(({ deletedAt }) => !deletedAt)
      return {
        vms: live.map((vm) => {
          const host = registry.live(vm.hostId)
          const told = host.vms?.get(vm.id)?.trust
          const revocations = told && guestTrustView(told, host, clock.monotonic())
          return vmTrustView(vm, { inUse, isUsable, revocations })
        }),
      }
    },
  }
}
