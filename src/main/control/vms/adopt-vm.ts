import { clockPolicyOf } from '../../../ipc/clock-policy.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { VmSpec } from '../../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { isId } from '../../../ipc/names.ts'
import { AUTOSTART, check } from '../../../ipc/rules.ts'
import type { AdoptedVm, DesiredPower } from '../store/vm-row.ts'
import type { UnownedVm } from './unowned-vms.ts'

/** Past 2^53 a row can be written and not be read: a restart adds to what its host said. */
const MAX_RESTARTS = 2 ** 32

/**
 * The row of a VM that goes on as it is: its spec is what the host holds already, but for its power, which is what it
 * has now. Raises vm/waiting while the host has not said enough of it, and input/invalid.
 */
export function adoptedVm({ id, hostId, spec, seen }: UnownedVm, newName: string): AdoptedVm {
  const waits = (detail: string) => new Fault('vm/waiting', 'transient', { vm: spec?.name || id, detail })
  if (!spec && seen && !seen.unowned) throw waits('its host has not said yet how it is made')
  if (!spec) throw waits('its host reports more VMs than one message holds; adopt others first')
  const { name, vcpus, memMb, diskGb, network, backend, imageUrl, imageSha256 } = spec
  const checked = check('adoptedVm', {
    name: newName || name,
    vcpus,
    memMb,
    diskGb,
    network,
    backend,
    imageUrl,
    imageSha256,
  })
  const powerState = powerOf(spec, seen)
  if (!powerState) throw waits('its host has not said yet whether it runs')
  return {
    ...checked,
    id,
    hostId,
    imageKind: spec.imageKind === 'kernel' ? 'kernel' : 'disk',
    clockPolicy: clockPolicyOf(spec.clockPolicy),
    imageFormat: spec.imageFormat === 'qcow2' || spec.imageFormat === 'raw' ? spec.imageFormat : '',
    cloudInit: spec.cloudInit,
    powerState,
    autostart: spec.autostart ?? true,
    autostartDelayS: Math.min(spec.autostartDelayS, AUTOSTART.maxDelayS),
    autostartOrder: Math.min(spec.autostartOrder, AUTOSTART.maxOrder),
    cloneOf: isId(spec.cloneOf) ? spec.cloneOf : '',
    labels: {},
    sshAuthorizedKeys: spec.sshAuthorizedKeys,
    trustedCas: spec.sshUserCaAuthorizedKeys.length > 0 ? spec.sshUserCaAuthorizedKeys : null,
    hostCertRequired: spec.hostCertRequired,
    hostCertificate: spec.sshHostCert,
    injectedKey: null,
    forceStop: spec.forceStop,
    restartCount: Math.min(Number(spec.restartCount), MAX_RESTARTS),
  }
}

/** Adopting neither starts nor stops anything; a create that never ended goes on as it was meant. */
function powerOf({ powerState }: VmSpec, seen: UnownedVm['seen']): DesiredPower | undefined {
  if (!seen) return 'stopped'
  const wanted = powerState === 'stopped' ? 'stopped' : 'running'
  if (seen.phase === 'creating') return wanted
  if (seen.power === undefined) return undefined
  return seen.power === 'running' || seen.power === 'paused' ? 'running' : 'stopped'
}
