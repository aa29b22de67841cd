import type { Log } from '../../../ipc/base/log.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { CaKind, CasStore } from '../store/cas-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { CaKeys } from './ca-keys.ts'
import { parseCertificateLine } from './openssh/certificate.ts'
import { blobOf, canonicalLine } from './openssh/public-key.ts'

export interface RecoverDeps {
  cas: CasStore
  vms: { listAll(): VmRow[] }
  keys: CaKeys
  log: Log
}

/**
 * A store that was made anew, or is an older copy, may have lost CAs whose keys lie here and that its VMs trust: those
 * are CAs again, so that nobody is cut off. Keys that no VM knows stay where they are.
 */
export async function recoverCas({ cas, vms, keys, log }: RecoverDeps): Promise<void> {
  const known = new Set(cas.tenants().flatMap((tenant) => cas.list(tenant).map(({ id }) => id)))
  const lost = (await keys.list()).filter(({ id }) => !known.has(id))
  if (lost.length === 0) return
  const rows = vms.listAll()
  for (const { id, held } of lost) {
    const opened = await keys.open(id)
    if (opened.kind !== 'key') continue
    const blob = blobOf(opened.key)
    const publicKey = canonicalLine(blob)
    const found = whoKnows(rows, publicKey, blob)
    if (!found || cas.findByKey(publicKey)) continue
    const { tenant, kind } = found
    const state = cas.inUse(tenant, kind).length === 0 ? 'signing' : 'trusted'
    const name = `recovered-${id.slice(0, 8)}`
    cas.add('ca.recover', { id, tenant, kind, name, publicKey, fingerprint: fingerprintOf(blob), held, state })
    log.info('ca.recovered', { tenant, kind, name })
  }
}

/** What it signed is proof. Whom a VM trusts may be the word of a host: only where all of one tenant say it. */
function whoKnows(rows: readonly VmRow[], line: string, blob: Buffer): { tenant: string; kind: CaKind } | undefined {
  const certified = rows.find(({ hostCertificate }) => isSignedBy(hostCertificate, blob))
  if (certified) return { tenant: certified.tenant, kind: 'host' }
  const trusting = new Set(rows.flatMap((vm) => (vm.trustedCas?.includes(line) ? [vm.tenant] : [])))
  const [tenant] = trusting
  return tenant !== undefined && trusting.size === 1 ? { tenant, kind: 'user' } : undefined
}

function isSignedBy(line: string, blob: Buffer): boolean {
  const certificate = parseCertificateLine(line)
  return certificate?.caBlob.equals(blob) === true && certificate.signed
}
