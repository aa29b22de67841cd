import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import { Fault } from '../../../ipc/faults.ts'
import { connectName } from '../../../ipc/names.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import { currentActor } from '../store/actor.ts'
import type { CaRow, CasStore } from '../store/cas-store.ts'
import type { CertificateRow } from '../store/certificates-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import type { Authorities } from './authorities.ts'
import { type LoginWindow, loginWindow } from './login-window.ts'
import { certificateLine, signCertificate } from './openssh/certificate.ts'
import { parsePublicKey } from './openssh/public-key.ts'

export interface LoginRequest {
  tenant: string
  /** Absent = for every VM of the tenant that trusts the CA that signs. */
  vm?: VmRow | undefined
  /** Name in the guest. */
  login: string
  /** Public key line to certify. */
  publicKey: string
}

export interface Login {
  /** One line of a -cert.pub file. */
  certificate: string
  row: CertificateRow
  /** One sentence: the guest refuses it, its clock is too far off. Empty = no such word. */
  clockDetail: string
}

export interface LoginDeps {
  cas: CasStore
  authorities: Authorities
  /** Stores it and says so in the audit trail. */
  record(
    certificate: Omit<CertificateRow, 'issuedAt' | 'revokedAt' | 'caFingerprint'>,
    vm: VmRow | undefined,
  ): CertificateRow
  /** Guest minus this computer, ms; undefined = not known. */
  offsetMs(vm: VmRow): number | undefined
  clock: Clock
}

/** What a person may do in a guest; not their agent, which every root there could use. */
const EXTENSIONS = ['permit-pty', 'permit-port-forwarding']
const KEY_ID_CHARS = 200

/** A certificate for half an hour. Raises input/invalid for what is no key, ca/none, and what opening the CA's key does. */
export async function issueLogin(deps: LoginDeps, request: LoginRequest): Promise<Login> {
  const { tenant, vm, login, publicKey } = request
  const key = parsePublicKey(publicKey)
  if (!key) {
    const problem = 'not an OpenSSH public key line'
    throw new Fault('input/invalid', 'permanent', { field: 'public_key', problem, value: publicKey.slice(0, 40) })
  }
  const { ca, signer } = await firstThatOpens(deps, signersFor(deps.cas, tenant, vm), tenant, vm)
  const window = loginWindow(deps.clock.now(), vm && deps.offsetMs(vm))
  const serial = newSerial()
  const keyId = keyIdOf(request)
  const body = {
    kind: 'user' as const,
    serial,
    keyId,
    principals: [login],
    criticalOptions: {},
    extensions: EXTENSIONS,
  }
  const blob = signCertificate(signer, key.blob, { ...body, ...secondsOf(window) })
  const row = deps.record(
    {
      serial: String(serial),
      tenant,
      caId: ca.id,
      kind: 'user',
      keyId,
      principals: [login],
      keyFingerprint: fingerprintOf(key.blob),
      vmId: vm?.id ?? '',
      validAfter: window.validAfter,
      validBefore: window.validBefore,
    },
    vm,
  )
  const clockDetail =
    vm && window.beyond
      ? `The clock of ${vm.name} is too far off for certificates: it refuses them until it is set.`
      : ''
  return { certificate: certificateLine(blob, keyId), row, clockDetail }
}

/** A whole number of 64 bits that nobody could have used before, and that can be revoked. */
export function newSerial(): bigint {
  for (;;) {
    const serial = randomBytes(8).readBigUInt64BE()
    if (serial !== 0n) return serial
  }
}

/** Whole seconds, the end not later than said. */
export const secondsOf = ({ validAfter, validBefore }: Pick<LoginWindow, 'validAfter' | 'validBefore'>) => ({
  validAfter: BigInt(Math.floor(validAfter.getTime() / 1000)),
  validBefore: BigInt(Math.floor(validBefore.getTime() / 1000)),
})

/** CAs that can open a VM, in the order to try: of those frozen onto it the one that signs now, then the newest. */
function signersFor(cas: Pick<CasStore, 'inUse'>, tenant: string, vm: Pick<VmRow, 'trustedCas'> | undefined): CaRow[] {
  const inUse = cas.inUse(tenant, 'user')
  const frozen = vm?.trustedCas
  return frozen ? inUse.filter(({ publicKey }) => frozen.includes(publicKey)) : inUse
}

/** Why the first of them does not open is what a person can mend. */
async function firstThatOpens({ authorities }: LoginDeps, signers: CaRow[], tenant: string, vm: VmRow | undefined) {
  const why: unknown[] = []
  for (const ca of signers) {
    try {
      return { ca, signer: await authorities.open(ca) }
    } catch (error) {
      why.push(error)
    }
  }
  throw why[0] ?? new Fault('ca/none', 'permanent', { kind: 'user', tenant, ...(vm ? { vm: vm.name } : {}) })
}

/** What the log of the guest shows for whoever came in. */
function keyIdOf({ tenant, vm, login }: LoginRequest): string {
  const { user, client } = currentActor()
  const where = vm ? connectName(tenant, vm.name) : `${tenant}.*`
  return `eitri ${login}@${where} for ${user || 'nobody'} by ${client}`
    .replace(/[^\x21-\x7e ]/g, '?')
    .slice(0, KEY_ID_CHARS)
}
