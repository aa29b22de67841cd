import { createHash } from 'node:crypto'

/** SSH material of one guest; absent parts leave no trace in the seed. */
export interface SeedSsh {
  /** Authorized-key lines of the user CAs. */
  userCas: readonly string[]
  /** OpenSSH private key (PEM) and its certificate line. */
  hostKey?: { privateKey: string; certificate: string }
  /** List of revoked certificates; absent or empty = nothing is revoked. */
  revoked?: Uint8Array
}

/** An OpenSSH list of revoked certificates; no bytes = none is revoked. */
export interface RevokedList {
  bytes: Uint8Array
  /** Hex. */
  sha256: string
}

export const revokedList = (bytes: Uint8Array): RevokedList => ({
  bytes,
  sha256: createHash('sha256').update(bytes).digest('hex'),
})

/** What a guest holds of the fleet's SSH trust, beside its private key. */
export interface GuestTrustFiles {
  userCas: readonly string[]
  /** Certificate line of its host key; empty = it has none of ours. */
  hostCertificate: string
  revoked: RevokedList
}

export const USER_CA_FILE = '/etc/ssh/eitri_user_ca.pub'
export const SSHD_DROP_IN = '/etc/ssh/sshd_config.d/10-eitri.conf'
/** Where cloud-init puts it too. */
export const HOST_CERTIFICATE = '/etc/ssh/ssh_host_ed25519_key-cert.pub'
/** Read at each login; a guest without the file it names lets nobody in by key. */
export const REVOKED_KEYS = '/etc/ssh/eitri_revoked_keys'

/** Settings of sshd, in the order they stand; none without SSH material. */
export const sshdLines = ({ userCas, hostCertificate }: Omit<GuestTrustFiles, 'revoked'>): string[] => [
  ...(userCas.length > 0 ? [`TrustedUserCAKeys ${USER_CA_FILE}`, `RevokedKeys ${REVOKED_KEYS}`] : []),
  ...(hostCertificate === '' ? [] : [`HostCertificate ${HOST_CERTIFICATE}`]),
]

/** Bytes as lines of base64 for a here-document. */
export const base64Lines = (bytes: Uint8Array): string[] =>
  Buffer.from(bytes)
    .toString('base64')
    .match(/.{1,76}/g) ?? []
