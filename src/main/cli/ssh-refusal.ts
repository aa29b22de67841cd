import type { VmTrust } from '../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { cloudInitVerdict } from '../../ipc/guest-words.ts'

/** Why a guest may have let nobody in, one line; empty = the fleet knows of nothing. */
export function refusalWord({ name, guest }: Vm, trust: VmTrust | undefined): string {
  const cloudInit = cloudInitVerdict(guest)
  if (cloudInit.tone === 'busy')
    return `${name}: ${cloudInit.text} It may let nobody in until that is done. Try again then.`
  const { detail = '', cutOff = false } = trust ?? {}
  if (detail !== '') return `${name}: ${detail} See "eitri cert trust".`
  return cutOff ? `${name}: no authority of this fleet opens it. See "eitri cert trust".` : ''
}
