import { type KeyObject, randomBytes } from 'node:crypto'
import { Fault } from '../../../ipc/faults.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { CaKind, CaRow, CaState, CasStore } from '../store/cas-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import { type Authorities, blobIn } from './authorities.ts'
import { parseCertificateLine } from './openssh/certificate.ts'
import { parsePrivateKey } from './openssh/private-key.ts'
import { blobOf, canonicalLine, parsePublicKey } from './openssh/public-key.ts'

export interface CaAdminDeps {
  cas: CasStore
  authorities: Authorities
  vms: { list(tenant: string): VmRow[] }
}

export interface NewCaRequest {
  tenant: string
  kind: CaKind
  name: string
  makeSigning: boolean
  ifAbsent: boolean
}

export interface ImportRequest extends NewCaRequest {
  /** Empty = only the public key is here. */
  privateKey: string
  passphrase: string
  publicKey: string
}

/** The names of the CAs made at first start. */
export const DEFAULT_CA = { host: 'host-ca', user: 'user-ca' } as const

/** A CA of a new key. The first of its kind signs. Raises ca/name-taken, ca/too-many, ca/key-unusable. */
export async function createCa({ cas, authorities }: CaAdminDeps, request: NewCaRequest) {
  const { tenant, kind, name, makeSigning, ifAbsent } = request
  const known = ifAbsent ? cas.findNamed(tenant, kind, name) : undefined
  if (known && known.state !== 'retired') return { ca: known, created: false }
  const state: CaState = makeSigning || cas.inUse(tenant, kind).length === 0 ? 'signing' : 'trusted'
  return { ca: await authorities.create(tenant, kind, name, state), created: true }
}

/** A key from elsewhere, or its public half. Raises what creating does, input/invalid, ca/key-taken, and ca/held-elsewhere. */
export async function importCa(deps: CaAdminDeps, request: ImportRequest): Promise<{ ca: CaRow; created: boolean }> {
  const { cas, authorities } = deps
  const { tenant, kind, name, makeSigning, ifAbsent } = request
  const { blob, key } = keyOf(request)
  if (!key && makeSigning) throw new Fault('ca/held-elsewhere', 'permanent', { ca: name })
  const known = cas.findByKey(canonicalLine(blob))
  if (known?.tenant === tenant && known.kind === kind) {
    const given = key && !(await isUsable(authorities, known)) ? await authorities.giveKey(known, key) : undefined
    if (!given && !ifAbsent) throw new Fault('ca/key-taken', 'conflict', { ca: known.name, kind })
    const ca = cas.get(tenant, (given ?? known).id)
    return { ca: makeSigning ? cas.setSigning(ca) : ca, created: false }
  }
  const first = cas.inUse(tenant, kind).length === 0
  if (key) {
    const ca = { tenant, kind, name, state: (makeSigning || first ? 'signing' : 'trusted') as CaState }
    return { ca: await authorities.adopt('ca.import', ca, key), created: true }
  }
  const id = randomBytes(16).toString('hex')
  const row = { id, tenant, kind, name, publicKey: canonicalLine(blob), fingerprint: fingerprintOf(blob) }
  return { ca: cas.add('ca.import', { ...row, held: 'elsewhere', state: 'trusted' }), created: true }
}

/** From now on it signs. Raises ca/not-found, ca/held-elsewhere, ca/key-removed and ca/key-unusable. Idempotent. */
export async function useCa({ cas, authorities }: CaAdminDeps, tenant: string, ref: string): Promise<CaRow> {
  const ca = cas.get(tenant, ref)
  await authorities.open(ca)
  // Whoever retired it meanwhile may have removed its key.
  if (!authorities.key(ca)) throw new Fault('ca/key-removed', 'permanent', { ca: ca.name })
  return cas.setSigning(cas.get(tenant, ca.id))
}

/**
 * Takes it out of use: nothing is signed with it any more. Raises ca/not-found, and ca/needed while a VM trusts no other
 * unless forced. Its private key is removed once no VM needs it; until then `use` takes it back. Idempotent.
 */
export async function retireCa(deps: CaAdminDeps, tenant: string, ref: string, force: boolean) {
  const { cas, vms } = deps
  const ca = cas.get(tenant, ref)
  const cutOff = cutOffBy(ca, cas.inUse(tenant, ca.kind), vms.list(tenant)).map(({ name }) => name)
  if (cutOff.length > 0 && !force && ca.state !== 'retired')
    throw new Fault('ca/needed', 'permanent', { ca: ca.name, vms: named(cutOff), count: String(cutOff.length) })
  const row = cas.retire(ca, cutOff)
  await dropUnneeded(deps, row)
  return { ca: row, cutOff }
}

/** Removes the private key of a retired CA that no VM needs, one in quarantine included. */
export async function dropUnneeded({ cas, authorities, vms }: CaAdminDeps, ca: CaRow): Promise<void> {
  // As it is now: it may be in use again since it was looked up.
  if (cas.list(ca.tenant).find(({ id }) => id === ca.id)?.state !== 'retired') return
  const needed = cutOffBy(ca, cas.inUse(ca.tenant, ca.kind), vms.list(ca.tenant), { deletedToo: true })
  if (needed.length === 0) await authorities.dropKey(ca)
}

/** VMs that nobody gets into by certificate without this user CA; for a host CA, those whose certificate nobody could renew. */
function cutOffBy(ca: CaRow, inUse: readonly CaRow[], vms: readonly VmRow[], { deletedToo = false } = {}): VmRow[] {
  const others = inUse.filter(({ id }) => id !== ca.id)
  const mine = vms.filter((vm) => vm.tenant === ca.tenant && (deletedToo || !vm.deletedAt))
  if (ca.kind === 'user') {
    const left = new Set(others.map(({ publicKey }) => publicKey))
    return mine.filter(
      ({ trustedCas }) => trustedCas?.includes(ca.publicKey) && !trustedCas.some((key) => left.has(key)),
    )
  }
  return others.some(({ held }) => held !== 'elsewhere') ? [] : mine.filter((vm) => isSignedBy(vm, ca))
}

/** How many live VMs trust it, or hold a host certificate of it. */
export const usedBy = (ca: CaRow, vms: readonly VmRow[]): number =>
  vms.filter(
    (vm) =>
      vm.tenant === ca.tenant &&
      !vm.deletedAt &&
      (ca.kind === 'user' ? vm.trustedCas?.includes(ca.publicKey) : isSignedBy(vm, ca)),
  ).length

const isSignedBy = (vm: VmRow, ca: CaRow): boolean =>
  vm.hostCertificate !== '' && (parseCertificateLine(vm.hostCertificate)?.caBlob.equals(blobIn(ca)) ?? false)

const MOST_NAMED = 10
const named = (names: readonly string[]): string =>
  names.length <= MOST_NAMED
    ? names.join(', ')
    : `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`

async function isUsable(authorities: Authorities, ca: CaRow): Promise<boolean> {
  return await authorities.open(ca).then(
    () => true,
    () => false,
  )
}

/** Neither key is in what is raised. */
function keyOf({ privateKey, passphrase, publicKey }: ImportRequest): { blob: Buffer; key?: KeyObject } {
  const half = publicKey === '' ? undefined : parsePublicKey(publicKey)
  if (publicKey !== '' && !half) throw invalid('public_key', 'not an OpenSSH public key line')
  if (privateKey === '') {
    if (half) return { blob: half.blob }
    throw invalid('public_key', 'give the public key, or the private key whose public half it is')
  }
  const parsed = parsePrivateKey(privateKey, passphrase)
  if (parsed.kind === 'locked') throw invalid('passphrase', 'the private key needs one')
  if (parsed.kind === 'wrong') throw invalid('passphrase', 'it does not open the private key')
  if (parsed.kind === 'unfit') throw invalid('private_key', parsed.detail)
  const blob = blobOf(parsed.key)
  if (half && !half.blob.equals(blob)) throw invalid('public_key', 'it is not the public half of the private key')
  return { blob, key: parsed.key }
}

const invalid = (field: string, problem: string): Fault => new Fault('input/invalid', 'permanent', { field, problem })
