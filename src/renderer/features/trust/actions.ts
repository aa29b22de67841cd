import type { Ca, RevokeCertificateRequest } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { api } from '../../api/transport.ts'
import { toastDone, toastFault } from '../../ui/toasts.tsx'
import { trustChanged } from './queries.ts'
import type { CaKind } from './view-model.ts'

/** A keychain may ask the person first. */
const KEYCHAIN = { timeoutMs: 120_000 }

/** Raises what the server says; the sheet shows it beside its fields. */
export async function createCa(asked: { kind: CaKind; name: string; makeSigning: boolean }): Promise<void> {
  const { ca } = await api.trust.createCa(asked, KEYCHAIN)
  await trustChanged()
  toastDone(`Made ${ca?.name ?? asked.name}`)
}

export interface ImportedCa {
  kind: CaKind
  name: string
  privateKey: string
  passphrase: string
  publicKey: string
  makeSigning: boolean
}

export async function importCa(asked: ImportedCa): Promise<void> {
  const { ca } = await api.trust.importCa(asked, KEYCHAIN)
  await trustChanged()
  toastDone(`Imported ${ca?.name ?? asked.name}`)
}

export async function signWith(ca: Ca): Promise<void> {
  try {
    await api.trust.setSigningCa({ ca: ca.id }, KEYCHAIN)
    await trustChanged()
    toastDone(`${ca.name} signs from now on; the one before stays trusted`)
  } catch (error) {
    toastFault(error)
  }
}

export async function retireCa(ca: Ca, force: boolean): Promise<void> {
  await api.trust.retireCa({ ca: ca.id, force })
  await trustChanged()
  toastDone(`Retired ${ca.name}`)
}

export async function revoke(
  asked: Pick<RevokeCertificateRequest, 'serial' | 'certificate' | 'reason'>,
): Promise<void> {
  const { revoked } = await api.trust.revokeCertificate(asked)
  await trustChanged()
  toastDone(`Revoked certificate ${revoked?.serial ?? ''}; guests get the list now`)
}
