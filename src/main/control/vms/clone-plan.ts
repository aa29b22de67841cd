import { Fault } from '../../../ipc/faults.ts'
import type { Checked } from '../../../ipc/rules.ts'
import type { NewVm, VmRow } from '../store/vm-row.ts'
import type { SeenVm } from './lifecycle-actions.ts'

const MAX_NAME = 63
const MAX_TRIES = 1_000

/** Raises vm/not-stopped and vm/waiting: a disk is copied only while nothing writes to it, and once it is whole. */
export function requireStopped(source: VmRow, seen: SeenVm): void {
  const not = (detail: string) => new Fault('vm/not-stopped', 'permanent', { vm: source.name, detail })
  if (source.powerState !== 'stopped') throw not('it is to run')
  if (seen.power === 'running' || seen.power === 'paused') throw not('it is still stopping')
  if (seen.power !== 'stopped') throw not('its host has not said yet whether it is')
  if (seen.phase !== 'ready')
    throw new Fault('vm/waiting', 'transient', { vm: source.name, detail: 'it has no whole disk yet to copy' })
}

/** `NAME-clone`, or the first of `-2`, `-3` … that is free. */
export function cloneName(source: string, isTaken: (name: string) => boolean): string {
  for (let n = 1; n <= MAX_TRIES; n++) {
    const suffix = n === 1 ? '-clone' : `-clone-${n}`
    const name = `${source.slice(0, MAX_NAME - suffix.length).replace(/-+$/, '')}${suffix}`
    if (!isTaken(name)) return name
  }
  throw new Fault('vm/name-taken', 'conflict', { vm: `${source}-clone` })
}

/** The clone's row: made as its source was, less its identity, its protection and its CAs. Raises input/invalid. */
export function clonedVm(source: VmRow, asked: Checked<'cloneVm'>, own: { id: string; name: string }): NewVm {
  const diskGb = asked.diskGb || source.diskGb
  if (diskGb < source.diskGb) {
    const problem = `the disk it is copied from has ${source.diskGb} GiB, and a disk is never made smaller`
    throw new Fault('input/invalid', 'permanent', { field: 'disk_gb', value: String(diskGb), problem })
  }
  const { hostId, imageUrl, imageSha256, imageKind, imageFormat, cloudInit, network, backend, labels } = source
  const { autostart, autostartDelayS, autostartOrder, sshAuthorizedKeys, injectedKey, clockPolicy } = source
  return {
    ...own,
    ...{ hostId, imageUrl, imageSha256, imageKind, imageFormat, cloudInit, network, backend, labels },
    ...{ autostart, autostartDelayS, autostartOrder, sshAuthorizedKeys, injectedKey, clockPolicy },
    vcpus: asked.vcpus || source.vcpus,
    memMb: asked.memMb || source.memMb,
    diskGb,
    powerState: asked.power,
    trustedCas: null,
    cloneOf: source.id,
  }
}
