import type { Ca, RevokedCertificate } from '../../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { Gone } from '../../ui/sheet-subject.tsx'
import { isRetired } from './view-model.ts'

/** Why a sheet of an authority cannot act any more. `told` absent = the authorities were not read yet. */
export function goneCa(
  sheet: 'show' | 'retire',
  opened: Ca,
  told: { now: Ca | undefined } | undefined,
): Gone | undefined {
  if (!told) return undefined
  const { now } = told
  if (!now)
    return {
      title: `${opened.name} is gone`,
      what: 'It is no authority of this store any more: a backup was put back, or it was taken out. Guests that trust it go on to.',
    }
  if (sheet === 'retire' && isRetired(now))
    return { title: `${now.name} is retired already`, what: 'Another window or the command line did it meanwhile.' }
  return undefined
}

/** Why one certificate cannot be revoked any more; '' = which one is still to be said. */
export function goneSerial(serial: string, revoked: readonly RevokedCertificate[] | undefined): Gone | undefined {
  if (serial === '' || !revoked?.some((one) => String(one.serial) === serial)) return undefined
  return {
    title: `Certificate ${serial} is revoked already`,
    what: 'Another window or the command line did it meanwhile; guests refuse it once they hold the new list.',
  }
}
