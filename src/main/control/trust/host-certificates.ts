import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { asFault, Fault } from '../../../ipc/faults.ts'
import { connectName, sshHostName } from '../../../ipc/names.ts'
import { fingerprintOf } from '../hosts/ssh/host-keys.ts'
import type { CaRow } from '../store/cas-store.ts'
import type { NewCertificate } from '../store/certificates-store.ts'
import type { VmRow } from '../store/vm-row.ts'
import { blobIn } from './authorities.ts'
import { newSerial, secondsOf } from './logins.ts'
import { type Certificate, certificateLine, parseCertificateLine, signCertificate } from './openssh/certificate.ts'
import { parsePublicKey } from './openssh/public-key.ts'

const DAY_MS = 24 * 3600_000
/** A guest gets its certificate with its seed, and may never take another. */
export const HOST_CERTIFICATE_MS = 5 * 365 * DAY_MS
/** Signed anew when it has less left. */
export const RENEWED_MS = 365 * DAY_MS
/** A host that tells another key of a guest each time fills neither the trail nor the table. */
const AGAIN_MS = 600_000
/** It begins this long ago, for clients whose clock is behind. */
const BACKDATED_MS = DAY_MS

/** Names a guest's host certificate is good for: the one its connections check, and the one people type. */
export const hostNames = ({ tenant, name }: Pick<VmRow, 'tenant' | 'name'>): string[] => [
  connectName(tenant, name),
  sshHostName(tenant, name),
]

export type Due = 'first' | 'key' | 'name' | 'ca' | 'ends'

/** Why a VM's host key is to be certified (again); undefined = it holds a good certificate. */
function certificateDue(
  vm: Pick<VmRow, 'tenant' | 'name'>,
  keyBlob: Buffer,
  held: Certificate | undefined,
  isInUse: (caBlob: Buffer) => boolean,
  now: number,
): Due | undefined {
  if (!held) return 'first'
  if (!held.keyBlob.equals(keyBlob)) return 'key'
  if (hostNames(vm).join() !== held.principals.join()) return 'name'
  if (!isInUse(held.caBlob)) return 'ca'
  return Number(held.validBefore) * 1000 - now < RENEWED_MS ? 'ends' : undefined
}

export interface HostCertifierDeps {
  vms: {
    find(id: string): VmRow | undefined
    listAll(): VmRow[]
    setHostCertificate(id: string, hostId: string, key: string, certificate: string): boolean
  }
  certificates: { add(row: NewCertificate): unknown }
  cas: { inUse(tenant: string, kind: 'host'): CaRow[] }
  authorities: { signer(tenant: string, kind: 'host'): { ca: CaRow; key: KeyObject } | undefined }
  audit: {
    add(event: { action: string; tenant: string; vmId: string; hostId: string; detail: Record<string, string> }): void
  }
  transaction<T>(work: () => T): T
  clock: Clock
  log: Log
}

/**
 * Certifies guests' host keys. A host contributes a key and nothing else: the names are those of the VM's own row, which
 * has to be of the host that reports. Without a CA that can sign nothing is done, and nobody is told to wait.
 */
export class HostCertifier {
  readonly #deps: HostCertifierDeps
  /** By VM, until when yet another key of it is not certified. */
  readonly #otherKey = new Map<string, number>()
  /** By VM, what it holds a good certificate for, and until when nothing need be done. */
  readonly #done = new Map<string, { key: string; names: string; until: number }>()

  constructor(deps: HostCertifierDeps) {
    this.#deps = deps
  }

  /** A host told the key of one of its VMs, and it is stored. Raises agent/misbehaved for what is no key, and store faults. */
  reported(hostId: string, vmId: string, key: string): void {
    const done = this.#done.get(vmId)
    if (done?.key === key && this.#deps.clock.now() < done.until) return
    const vm = this.#deps.vms.find(vmId)
    if (vm && vm.hostId === hostId) this.#certify(vm)
  }

  /** Of the row as it is now, whoever changed it. Never raises: one VM's trouble is its own. */
  check(vmId: string): void {
    const vm = this.#deps.vms.find(vmId)
    if (vm) this.#guarded(vm)
    else this.#gone(vmId)
  }

  checkAll(): void {
    for (const vm of this.#deps.vms.listAll()) this.#guarded(vm)
  }

  /** Looked at afresh the next time: what was done may not have been stored, or not be good any more. */
  forget(vmId?: string): void {
    if (vmId === undefined) this.#done.clear()
    else this.#done.delete(vmId)
  }

  #gone(vmId: string): void {
    this.#done.delete(vmId)
    this.#otherKey.delete(vmId)
  }

  #guarded(vm: VmRow): void {
    try {
      this.#certify(vm)
    } catch (error) {
      const { code, message } = asFault(error)
      this.#deps.log.warn('vm.not-certified', { host: vm.hostId, vm: vm.id, code, message })
    }
  }

  #certify(vm: VmRow): void {
    const { authorities, cas, clock } = this.#deps
    if (vm.hostPublicKey === '' || vm.deletedAt) return
    const names = hostNames(vm).join()
    const done = this.#done.get(vm.id)
    if (done?.key === vm.hostPublicKey && done.names === names && clock.now() < done.until) return
    const signer = authorities.signer(vm.tenant, 'host')
    if (!signer) return
    const key = parsePublicKey(vm.hostPublicKey)
    if (!key) {
      this.#done.set(vm.id, { key: vm.hostPublicKey, names, until: clock.now() + AGAIN_MS })
      throw failed('parse reported host key', vm)
    }
    const held = vm.hostCertificate === '' ? undefined : parseCertificateLine(vm.hostCertificate)
    const inUse = cas.inUse(vm.tenant, 'host').map(blobIn)
    const due = certificateDue(vm, key.blob, held, (blob) => inUse.some((one) => one.equals(blob)), clock.now())
    const now = clock.now()
    if (due === 'key' && now < (this.#otherKey.get(vm.id) ?? 0)) return
    if (due === 'key') this.#otherKey.set(vm.id, now + AGAIN_MS)
    const until = due ? this.#sign(vm, key.blob, signer, due) : Number(held?.validBefore ?? 0n) * 1000
    this.#done.set(vm.id, { key: vm.hostPublicKey, names, until: until - RENEWED_MS })
  }

  /** When it ends, ms. */
  #sign(
    vm: VmRow,
    keyBlob: Buffer,
    { ca, key }: NonNullable<ReturnType<HostCertifierDeps['authorities']['signer']>>,
    due: Due,
  ): number {
    const { transaction, vms, certificates, audit, clock } = this.#deps
    const now = clock.now()
    const window = { validAfter: new Date(now - BACKDATED_MS), validBefore: new Date(now + HOST_CERTIFICATE_MS) }
    const serial = newSerial()
    const principals = hostNames(vm)
    const keyId = `eitri host ${principals[0]}`
    const body = { kind: 'host' as const, serial, keyId, principals, criticalOptions: {}, extensions: [] }
    const blob = step('sign host cert', vm, () => signCertificate(key, keyBlob, { ...body, ...secondsOf(window) }))
    step('record host cert', vm, () =>
      transaction(() => {
        const line = certificateLine(blob, principals[0] ?? '')
        if (!vms.setHostCertificate(vm.id, vm.hostId, vm.hostPublicKey, line))
          throw new Error('the VM is not that host’s any more')
        const keyFingerprint = fingerprintOf(keyBlob)
        const { tenant, id: vmId, hostId, name } = vm
        certificates.add({
          ...window,
          serial: String(serial),
          tenant,
          caId: ca.id,
          kind: 'host',
          keyId,
          principals,
          keyFingerprint,
          vmId,
        })
        audit.add({
          action: 'vm.certify',
          tenant,
          vmId,
          hostId,
          detail: { name, serial: String(serial), ca: ca.name, because: due },
        })
      }),
    )
    return window.validBefore.getTime()
  }
}

function step<T>(what: string, vm: VmRow, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const fault = asFault(error)
    throw new Fault(
      fault.code,
      fault.disposition,
      { ...fault.params, message: `${what}: ${fault.params['message'] ?? fault.message}`, vm: vm.name },
      { cause: error },
    )
  }
}

const failed = (what: string, vm: VmRow): Fault =>
  new Fault('agent/misbehaved', 'transient', {
    host: vm.hostId,
    vm: vm.name,
    detail: `${what}: it is no SSH public key`,
  })
