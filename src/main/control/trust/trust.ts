import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { actingItself } from '../store/actor.ts'
import type { Stores } from '../store/stores.ts'
import { freezeUnrecorded } from '../store/unrecorded-trust.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { FrozenTrust } from '../store/vms-store.ts'
import type { Registry } from '../sync/registry.ts'
import type { SnapshotTrust } from '../sync/snapshot-builder.ts'
import { Authorities } from './authorities.ts'
import { type CaAdminDeps, createCa, DEFAULT_CA, dropUnneeded } from './ca-admin.ts'
import type { CaKeys } from './ca-keys.ts'
import { guestOffsetMs } from './guest-offset.ts'
import { HostCertifier } from './host-certificates.ts'
import { knownHostsOf } from './known-hosts.ts'
import { issueLogin, type Login, type LoginDeps, type LoginRequest } from './logins.ts'
import { recoverCas } from './recover-cas.ts'
import { krlOf } from './revocations.ts'

/** How often certificates are looked at that end, and what is past its time is dropped. */
const UPKEEP_MS = 3600_000
/** A keychain may ask the person first: the app starts meanwhile. */
const START_MS = 10_000

/** The SSH trust of the fleet: authorities, certificates, revocations. Everything else works without it. */
export interface Trust extends SnapshotTrust {
  readonly admin: CaAdminDeps
  readonly certifier: HostCertifier
  /** For half an hour, as the current actor. Raises input/invalid, ca/none, ca/held-elsewhere, ca/key-unusable. */
  issueLogin(request: LoginRequest): Promise<Login & { knownHosts: string[] }>
  /** Lines of known_hosts that make a client trust this VM, whatever its address. */
  knownHosts(vm: VmRow): string[]
  /** Makes the CAs a tenant begins with. Idempotent; never rejects: what could not be made is in the log. */
  ensureTenant(tenant: string): Promise<void>
  /** Default CAs, sets of VMs that had none recorded, keys; what takes longer than 10 s goes on by itself. Never rejects. */
  start(): Promise<void>
  /** Until the signal aborts. */
  upkeep(signal: AbortSignal): Promise<void>
}

export interface TrustDeps {
  stores: Stores
  registry: Registry
  keys: CaKeys
  clock: Clock
  log: Log
}

/** Connects them; makes and opens nothing before `start`. */
export function createTrust({ stores, registry, keys, clock, log }: TrustDeps): Trust {
  const { cas, certificates, vms, audit, tenants, db } = stores
  const authorities = new Authorities({ cas, keys, clock, log })
  const transaction = <T>(work: () => T): T => db.transaction(work)
  const certifier = new HostCertifier({ vms, certificates, cas, authorities, audit, transaction, clock, log })
  const admin: CaAdminDeps = { cas, authorities, vms }
  const logins: LoginDeps = {
    cas,
    authorities,
    clock,
    offsetMs: (vm) => guestOffsetMs(registry.live(vm.hostId), vm.id, clock.monotonic()),
    record: (certificate, vm) => transaction(() => recorded(stores, certificate, vm)),
  }
  const inUse = (tenant: string, kind: 'host' | 'user') => cas.inUse(tenant, kind)
  const userCas = (tenant: string) => inUse(tenant, 'user').map(({ publicKey }) => publicKey)
  const knownHosts = (vm: VmRow) => knownHostsOf(vm, inUse(vm.tenant, 'host'))
  const making = new Map<string, Promise<void>>()

  vms.freezeWith((tenant) => frozenTrust(tenant, userCas(tenant), authorities.signer(tenant, 'host') !== undefined))
  authorities.onOpened((ca) => {
    if (ca.kind === 'host') actingItself(() => certifier.checkAll())
  })
  db.onReplaced(() => {
    certifier.forget()
    if (!db.damage) void starting()
  })
  db.onCommit((changes) => {
    for (const { noun, id } of changes) if (noun === 'vm') actingItself(() => certifier.check(id))
  })

  const ensureTenant = (tenant: string): Promise<void> => {
    const running =
      making.get(tenant) ?? actingItself(() => makeDefaults(admin, tenant, log)).finally(() => making.delete(tenant))
    making.set(tenant, running)
    return running
  }
  const tidy = async (): Promise<void> => {
    // What cannot be read must not pass for what nobody needs.
    if (db.damage) return
    const dropped = certificates.prune()
    if (dropped.certificates + dropped.revoked > 0) log.info('certificates.pruned', dropped)
    for (const tenant of cas.tenants()) for (const ca of cas.list(tenant)) await dropUnneeded(admin, ca)
    certifier.checkAll()
  }

  const begin = async (): Promise<void> => {
    await recoverCas({ cas, vms, keys, log })
    for (const { name } of tenants.list()) await ensureTenant(name)
    freezeUnrecorded(stores)
    for (const tenant of cas.tenants()) await authorities.openAll(cas.list(tenant))
  }

  const starting = (): Promise<void> =>
    actingItself(begin).catch((error: unknown) => log.warn('trust.not-ready', { message: asFault(error).message }))

  return {
    admin,
    certifier,
    userCas,
    krl: (tenant) => krlOf({ cas, certificates }, tenant),
    hasHostCa: (tenant) => inUse(tenant, 'host').some(({ state, held }) => state === 'signing' && held !== 'elsewhere'),
    knownHosts,
    async issueLogin(request) {
      const login = await issueLogin(logins, request)
      return { ...login, knownHosts: request.vm ? knownHosts(request.vm) : [] }
    },
    ensureTenant,
    async start() {
      if (db.damage) return
      const done = starting()
      const waited = new AbortController()
      await Promise.race([done, clock.sleep(START_MS, waited.signal).catch(() => {})])
      waited.abort()
    },
    async upkeep(signal) {
      while (!signal.aborted) {
        await actingItself(tidy).catch((error: unknown) =>
          log.warn('trust.not-tidied', { message: asFault(error).message }),
        )
        await clock.sleep(UPKEEP_MS, signal).catch(() => {})
      }
    },
  }
}

/** Raises ca/none: a guest that trusts nobody would never be opened by certificate. */
function frozenTrust(tenant: string, trustedCas: string[], hostCertRequired: boolean): FrozenTrust {
  if (trustedCas.length === 0) throw new Fault('ca/none', 'permanent', { kind: 'user', tenant })
  return { trustedCas, hostCertRequired }
}

/** Of a tenant that has no CA of that kind, and never had. */
async function makeDefaults(admin: CaAdminDeps, tenant: string, log: Log): Promise<void> {
  for (const kind of ['host', 'user'] as const) {
    if (admin.cas.list(tenant, kind).length > 0) continue
    const request = { tenant, kind, name: DEFAULT_CA[kind], makeSigning: true, ifAbsent: true }
    await createCa(admin, request).catch((error: unknown) => {
      const { code, message } = asFault(error)
      log.warn('ca.not-made', { tenant, kind, code, message })
    })
  }
}

function recorded(
  { certificates, audit }: Stores,
  certificate: Parameters<LoginDeps['record']>[0],
  vm: VmRow | undefined,
) {
  const row = certificates.add(certificate)
  const { serial, tenant, principals, keyFingerprint, validBefore } = row
  audit.add({
    action: 'cert.issue',
    tenant,
    ...(vm ? { vmId: vm.id, hostId: vm.hostId } : {}),
    detail: {
      ...(vm ? { name: vm.name } : {}),
      serial,
      login: principals.join(', '),
      key: keyFingerprint,
      until: validBefore.toISOString(),
    },
  })
  return row
}
