import { Fault } from '../../../ipc/faults.ts'
import type { AuditStore } from './audit-store.ts'
import { type CaKind, pokeHosts } from './cas-store.ts'
import type { Database } from './database.ts'

/** A certificate that was issued here. */
export interface NewCertificate {
  /** A 64-bit number. */
  serial: string
  tenant: string
  caId: string
  kind: CaKind
  keyId: string
  principals: string[]
  /** SHA256:… of the certified key. */
  keyFingerprint: string
  /** Empty = not for one VM. */
  vmId: string
  validAfter: Date
  validBefore: Date
}

export interface CertificateRow extends NewCertificate {
  caFingerprint: string
  issuedAt: Date
  /** Null = not revoked. */
  revokedAt: Date | null
}

export interface NewRevocation {
  tenant: string
  /** A 64-bit number. */
  serial: string
  /** Empty = of any CA of the tenant. */
  caFingerprint: string
  reason: string
  /** When the certificate ends by itself; null = not known. */
  validBefore: Date | null
}

export interface RevokedRow extends NewRevocation {
  revokedAt: Date
}

interface RawCertificate {
  serial: string
  tenant: string
  ca_id: string
  kind: CaKind
  key_id: string
  principals: string
  key_fingerprint: string
  vm_id: string
  valid_after: string
  valid_before: string
  issued_at: string
  ca_fingerprint: string
  revoked_at: string | null
}

interface RawRevoked {
  tenant: string
  serial: string
  ca_fingerprint: string
  reason: string
  revoked_at: string
  valid_before: string | null
}

/** Certificates past their end are remembered this long, at most so many; the oldest go first. */
const KEPT_MS = 7 * 24 * 3600 * 1000
const MAX_ENDED = 100_000
/** Past the end of what is revoked: a guest whose clock is late takes it for longer. */
const REVOKED_KEPT_MS = 30 * 24 * 3600 * 1000
/** Of the certificates of one guest's key, the newest. */
const KEPT_PER_GUEST = 5
/** Of one tenant: what a list of revoked certificates can hold. */
const MAX_REVOKED = 10_000

const SELECT = `
  SELECT certificates.*, cas.fingerprint ca_fingerprint, revoked_certificates.revoked_at
  FROM certificates JOIN cas ON cas.id = certificates.ca_id
  LEFT JOIN revoked_certificates
    ON revoked_certificates.tenant = certificates.tenant AND revoked_certificates.serial = certificates.serial`

/** What was issued and what is revoked, by serial: text, as they go past what a number holds. */
export class CertificatesStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  /** Raises store/conflict for a serial that was used before. Not audited: whoever issues says for what. */
  add(row: NewCertificate): CertificateRow {
    this.#db.run(
      `INSERT INTO certificates (serial, tenant, ca_id, kind, key_id, principals, key_fingerprint, vm_id, valid_after, valid_before, issued_at)
       VALUES ($serial, $tenant, $caId, $kind, $keyId, $principals, $keyFingerprint, $vmId, $validAfter, $validBefore, $issuedAt)`,
      {
        ...row,
        principals: JSON.stringify(row.principals),
        validAfter: row.validAfter.toISOString(),
        validBefore: row.validBefore.toISOString(),
        issuedAt: new Date(this.#now()).toISOString(),
      },
    )
    const added = this.find(row.tenant, row.serial)
    if (!added) throw new Fault('certificate/not-found', 'permanent', { serial: row.serial })
    return added
  }

  /** One of another tenant is none. */
  find(tenant: string, serial: string): CertificateRow | undefined {
    const raw = this.#db.find<RawCertificate>(
      `${SELECT} WHERE certificates.tenant = $tenant AND certificates.serial = $serial`,
      { tenant, serial },
    )
    return raw && certificateOf(raw)
  }

  /** Newest first; `kind` undefined = both, `ended` = also those past their end. */
  list(tenant: string, { kind, ended, limit }: { kind?: CaKind; ended: boolean; limit: number }): CertificateRow[] {
    return this.#db
      .list<RawCertificate>(
        `${SELECT} WHERE certificates.tenant = $tenant AND ($kind = '' OR certificates.kind = $kind)
           AND certificates.valid_before > $from ORDER BY issued_at DESC, certificates.rowid DESC LIMIT $limit`,
        { tenant, kind: kind ?? '', from: ended ? '' : new Date(this.#now()).toISOString(), limit },
      )
      .map(certificateOf)
  }

  /** Idempotent: one that is revoked stays as it was revoked; one serial of two CAs is revoked for every CA. Raises certificate/too-many-revoked. Pokes the tenant's hosts. */
  revoke(revocation: NewRevocation): RevokedRow {
    return this.#db.transaction(() => {
      const { tenant, serial } = revocation
      const known = this.findRevoked(tenant, serial)
      if (known && ['', revocation.caFingerprint].includes(known.caFingerprint)) return known
      if (known)
        this.#db.run('DELETE FROM revoked_certificates WHERE tenant = $tenant AND serial = $serial', { tenant, serial })
      else if (this.#countRevoked(tenant) >= MAX_REVOKED)
        throw new Fault('certificate/too-many-revoked', 'permanent', { max: String(MAX_REVOKED) })
      this.#insertRevoked(known ? ofEveryCa(known, revocation) : revocation)
      const { caFingerprint, reason } = revocation
      const why = { ...(caFingerprint ? { ca: caFingerprint } : {}), ...(reason ? { reason } : {}) }
      this.#audit.add({ action: 'cert.revoke', tenant, detail: { serial, ...why } })
      pokeHosts(this.#db, tenant)
      return this.findRevoked(tenant, serial) ?? { ...revocation, revokedAt: new Date(this.#now()) }
    })
  }

  /** Newest first. */
  listRevoked(tenant: string): RevokedRow[] {
    return this.#db
      .list<RawRevoked>('SELECT * FROM revoked_certificates WHERE tenant = $tenant ORDER BY revoked_at DESC, serial', {
        tenant,
      })
      .map(revokedOf)
  }

  findRevoked(tenant: string, serial: string): RevokedRow | undefined {
    const raw = this.#db.find<RawRevoked>(
      'SELECT * FROM revoked_certificates WHERE tenant = $tenant AND serial = $serial',
      { tenant, serial },
    )
    return raw && revokedOf(raw)
  }

  #countRevoked(tenant: string): number {
    const sql = 'SELECT count(*) n FROM revoked_certificates WHERE tenant = $tenant'
    return this.#db.find<{ n: number }>(sql, { tenant })?.n ?? 0
  }

  /** Forgets certificates long past their end, and drops revocations that say nothing any more; how many of each. */
  prune(): { certificates: number; revoked: number } {
    return this.#db.transaction(() => {
      const now = this.#now()
      const certificates =
        this.#db.run('DELETE FROM certificates WHERE valid_before < $cut', {
          cut: new Date(now - KEPT_MS).toISOString(),
        }) +
        this.#db.run(
          `DELETE FROM certificates WHERE serial IN (SELECT serial FROM certificates
             WHERE valid_before < $now ORDER BY valid_before DESC LIMIT -1 OFFSET $most)`,
          { now: new Date(now).toISOString(), most: MAX_ENDED },
        )
      return { certificates: certificates + this.#pruneHosts(), revoked: this.#pruneRevoked(now) }
    })
  }

  /** What was followed by newer ones; those of guests that are gone went with their rows. */
  #pruneHosts(): number {
    return this.#db.run(
      `DELETE FROM certificates WHERE kind = 'host' AND serial IN (
         SELECT serial FROM (SELECT serial, row_number() OVER (PARTITION BY vm_id ORDER BY issued_at DESC, rowid DESC) n
           FROM certificates WHERE kind = 'host') WHERE n > $kept)`,
      { kept: KEPT_PER_GUEST },
    )
  }

  #pruneRevoked(now: number): number {
    const cut = new Date(now - REVOKED_KEPT_MS).toISOString()
    const tenants = this.#db.list<{ tenant: string; serial: string }>(
      'DELETE FROM revoked_certificates WHERE valid_before < $cut RETURNING tenant, serial',
      { cut },
    )
    for (const tenant of new Set(tenants.map((row) => row.tenant))) pokeHosts(this.#db, tenant)
    return tenants.length
  }

  #insertRevoked(revocation: NewRevocation): void {
    this.#db.run(
      `INSERT INTO revoked_certificates (tenant, serial, ca_fingerprint, reason, revoked_at, valid_before)
       VALUES ($tenant, $serial, $caFingerprint, $reason, $revokedAt, $validBefore)`,
      {
        ...revocation,
        validBefore: revocation.validBefore?.toISOString() ?? null,
        revokedAt: new Date(this.#now()).toISOString(),
      },
    )
  }
}

/** Until the later end of the two. */
const ofEveryCa = (known: RevokedRow, more: NewRevocation): NewRevocation => ({
  ...more,
  caFingerprint: '',
  validBefore:
    known.validBefore && more.validBefore
      ? new Date(Math.max(known.validBefore.getTime(), more.validBefore.getTime()))
      : null,
})

const certificateOf = (raw: RawCertificate): CertificateRow => ({
  serial: raw.serial,
  tenant: raw.tenant,
  caId: raw.ca_id,
  caFingerprint: raw.ca_fingerprint,
  kind: raw.kind,
  keyId: raw.key_id,
  principals: JSON.parse(raw.principals) as string[],
  keyFingerprint: raw.key_fingerprint,
  vmId: raw.vm_id,
  validAfter: new Date(raw.valid_after),
  validBefore: new Date(raw.valid_before),
  issuedAt: new Date(raw.issued_at),
  revokedAt: raw.revoked_at === null ? null : new Date(raw.revoked_at),
})

const revokedOf = (raw: RawRevoked): RevokedRow => ({
  tenant: raw.tenant,
  serial: raw.serial,
  caFingerprint: raw.ca_fingerprint,
  reason: raw.reason,
  revokedAt: new Date(raw.revoked_at),
  validBefore: raw.valid_before === null ? null : new Date(raw.valid_before),
})
