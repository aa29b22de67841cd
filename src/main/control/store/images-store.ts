import { Fault } from '../../../ipc/faults.ts'
import { type AuditStore, SYSTEM_TENANT } from './audit-store.ts'
import { brokeConstraint, type Database, type Row } from './database.ts'

export type ImageArch = 'x86_64' | 'aarch64'
export type ImageFormat = '' | 'qcow2' | 'raw'

export interface NewImage {
  id: string
  name: string
  kind: 'disk' | 'kernel'
  /** What a disk image has to be by its content; empty = either. */
  format: ImageFormat
  arch: ImageArch
  /** Empty = the file is kept in this store. */
  url: string
  sha256: string
  /** Null = not known yet. */
  sizeBytes: number | null
  /** 0 = no opinion. */
  defaultVcpus: number
  defaultMemMb: number
  defaultDiskGb: number
  description: string
  origin?: ImageOrigin
}

/** How an image came here. */
export interface ImageOrigin {
  /** Where its digest comes from; empty = not noted. */
  verified: '' | 'given' | 'built' | 'imported' | 'listed' | 'checked'
  /** The publisher's list; empty = none. */
  digestsUrl: string
  os: string
  /** Of the disk a guest sees; null = not known. */
  virtualBytes: number | null
  /** Entry of the catalogue; empty = none. */
  catalogue: string
}

export const NO_ORIGIN: ImageOrigin = { verified: '', digestsUrl: '', os: '', virtualBytes: null, catalogue: '' }

export interface ImageRow extends NewImage {
  origin: ImageOrigin
  isDefault: boolean
  createdAt: Date
}

interface Raw {
  id: string
  name: string
  kind: 'disk' | 'kernel'
  format: ImageFormat
  arch: ImageArch
  url: string
  sha256: string
  size_bytes: number | null
  is_default: number
  default_vcpus: number
  default_mem_mb: number
  default_disk_gb: number
  description: string
  created_at: string
  verified: ImageOrigin['verified']
  digests_url: string
  os: string
  virtual_bytes: number | null
  catalogue: string
}

const fromRaw = (raw: Raw): ImageRow => ({
  id: raw.id,
  name: raw.name,
  kind: raw.kind,
  format: raw.format,
  arch: raw.arch,
  url: raw.url,
  sha256: raw.sha256,
  sizeBytes: raw.size_bytes,
  isDefault: raw.is_default === 1,
  defaultVcpus: raw.default_vcpus,
  defaultMemMb: raw.default_mem_mb,
  defaultDiskGb: raw.default_disk_gb,
  description: raw.description,
  origin: {
    verified: raw.verified,
    digestsUrl: raw.digests_url,
    os: raw.os,
    virtualBytes: raw.virtual_bytes,
    catalogue: raw.catalogue,
  },
  createdAt: new Date(raw.created_at),
})

/** The image catalogue. At most one default per architecture, by unique index. */
export class ImagesStore {
  readonly #db: Database
  readonly #audit: AuditStore
  readonly #now: () => number

  constructor(db: Database, audit: AuditStore, now: () => number) {
    this.#db = db
    this.#audit = audit
    this.#now = now
  }

  list(): ImageRow[] {
    return this.#db.list<Raw>('SELECT * FROM images ORDER BY name').map(fromRaw)
  }

  find(id: string): ImageRow | undefined {
    return this.#one('id = $value', id)
  }

  findByName(name: string): ImageRow | undefined {
    return this.#one('name = $value', name)
  }

  findByCatalogue(entry: string): ImageRow | undefined {
    return this.#one("catalogue = $value AND catalogue <> '' ORDER BY created_at DESC LIMIT 1", entry)
  }

  findBySha256(sha256: string): ImageRow | undefined {
    return this.#one('sha256 = $value ORDER BY created_at DESC LIMIT 1', sha256)
  }

  findDefault(arch: string): ImageRow | undefined {
    return this.#one('is_default = 1 AND arch = $value', arch)
  }

  /** By name or id; raises image/not-found. */
  resolve(nameOrId: string): ImageRow {
    const row = this.findByName(nameOrId) ?? this.find(nameOrId)
    if (!row) throw new Fault('image/not-found', 'permanent', { image: nameOrId })
    return row
  }

  /** Raises image/name-taken. */
  create(image: NewImage): ImageRow {
    return this.#db.transaction(() => {
      try {
        this.#db.run(
          `INSERT INTO images (id, name, kind, format, arch, url, sha256, size_bytes, default_vcpus, default_mem_mb,
             default_disk_gb, description, created_at, verified, digests_url, os, virtual_bytes, catalogue)
           VALUES ($id, $name, $kind, $format, $arch, $url, $sha256, $sizeBytes, $defaultVcpus, $defaultMemMb,
             $defaultDiskGb, $description, $createdAt, $verified, $digestsUrl, $os, $virtualBytes, $catalogue)`,
          this.#params(image),
        )
      } catch (error) {
        if (brokeConstraint(error, 'images.name'))
          throw new Fault('image/name-taken', 'conflict', { image: image.name }, { cause: error })
        throw error
      }
      return this.#wrote('image.add', image.id, undefined)
    })
  }

  /** Same name, new bytes; keeps id and default. Raises image/not-found. */
  replace(image: NewImage): ImageRow {
    return this.#db.transaction(() => {
      const before = this.resolve(image.id)
      this.#db.run(
        `UPDATE images SET name = $name, kind = $kind, format = $format, arch = $arch, url = $url, sha256 = $sha256,
           size_bytes = $sizeBytes, default_vcpus = $defaultVcpus, default_mem_mb = $defaultMemMb,
           default_disk_gb = $defaultDiskGb, description = $description, created_at = $createdAt,
           verified = $verified, digests_url = $digestsUrl, os = $os, virtual_bytes = $virtualBytes,
           catalogue = $catalogue WHERE id = $id`,
        this.#params(image),
      )
      return this.#wrote('image.replace', image.id, before)
    })
  }

  /** Learnt from a host that has it whole. Writes only while it is not known. */
  setSize(sha256: string, sizeBytes: number): void {
    const rows = this.#db.list<{ id: string }>(
      'UPDATE images SET size_bytes = $sizeBytes WHERE sha256 = $sha256 AND size_bytes IS NULL RETURNING id',
      { sha256, sizeBytes },
    )
    for (const { id } of rows) this.#db.changed('image', id)
  }

  /** The default of its own architecture. Idempotent; raises image/not-found. */
  setDefault(id: string): ImageRow {
    return this.#db.transaction(() => {
      const row = this.resolve(id)
      if (row.isDefault) return row
      const before = this.findDefault(row.arch)
      if (before) {
        this.#db.run('UPDATE images SET is_default = 0 WHERE id = $id', { id: before.id })
        this.#db.changed('image', before.id)
      }
      this.#db.run('UPDATE images SET is_default = 1 WHERE id = $id', { id })
      return this.#wrote('image.default', id, row)
    })
  }

  /** Raises image/in-use naming the tenant's VMs, quarantined ones included, that need these bytes and no other image gives. */
  remove(tenant: string, id: string): ImageRow {
    return this.#db.transaction(() => {
      const row = this.resolve(id)
      const others = this.list().some((other) => other.id !== row.id && other.sha256 === row.sha256)
      const users = this.#db.list<{ name: string; tenant: string }>(
        'SELECT name, tenant FROM vms WHERE image_sha256 = $sha256 ORDER BY name',
        { sha256: row.sha256 },
      )
      if (users.length > 0 && !others) {
        throw new Fault('image/in-use', 'permanent', {
          image: row.name,
          vms: users
            .filter((vm) => vm.tenant === tenant)
            .slice(0, 10)
            .map((vm) => vm.name)
            .join(', '),
        })
      }
      this.#db.run('DELETE FROM images WHERE id = $id', { id: row.id })
      this.#note('image.remove', row, undefined)
      this.#db.changed('image', row.id)
      return row
    })
  }

  #one(where: string, value: string): ImageRow | undefined {
    const raw = this.#db.find<Raw>(`SELECT * FROM images WHERE ${where}`, { value })
    return raw && fromRaw(raw)
  }

  #params(image: NewImage): Row {
    const { id, name, kind, format, arch, url, sha256, sizeBytes, description } = image
    const { defaultVcpus, defaultMemMb, defaultDiskGb } = image
    const createdAt = new Date(this.#now()).toISOString()
    const sizes = { defaultVcpus, defaultMemMb, defaultDiskGb }
    const origin = { ...NO_ORIGIN, ...image.origin }
    return { id, name, kind, format, arch, url, sha256, sizeBytes, ...sizes, description, createdAt, ...origin }
  }

  #wrote(action: string, id: string, before: ImageRow | undefined): ImageRow {
    const row = this.resolve(id)
    this.#note(action, before, row)
    this.#db.changed('image', id)
    return row
  }

  #note(action: string, before: ImageRow | undefined, after: ImageRow | undefined): void {
    const { name = '', sha256 = '' } = after ?? before ?? {}
    this.#audit.changed({ action, tenant: SYSTEM_TENANT, detail: { name, sha256 } }, before, after)
  }
}
