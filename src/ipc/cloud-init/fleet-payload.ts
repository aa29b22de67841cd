import { type ConfigReader, keyAt, truthOf, valueAt } from './config-reader.ts'
import type { YamlMap } from './yaml-tree.ts'
import { textOf } from './yaml-value.ts'

/** Where user-data and what the fleet owes every guest meet. */
export function checkFleet(reader: ConfigReader, root: YamlMap): void {
  const inside = (name: string, key: string) => {
    const map = valueAt(root, name)
    return map?.kind === 'map' ? valueAt(map, key) : undefined
  }
  const enabled = inside('vendor_data', 'enabled')
  if (enabled && truthOf(enabled) === false)
    reader.tell(
      enabled.start,
      'warning',
      'vendor-data-off',
      'with vendor data off the fleet puts nothing in: its disk does not grow, its clock is not kept, and sign-in by certificate does not work',
      'Take "vendor_data" out unless that is meant.',
    )
  const growpart = keyAt(root, 'growpart')
  const mode = inside('growpart', 'mode')
  if (growpart && !(mode && truthOf(mode) === false))
    reader.tell(
      growpart.start,
      'info',
      'fleet-disk',
      'the fleet grows the first partition of the disk by itself; with this cloud-init does so too',
      'Leave it out unless other partitions are to grow.',
    )
  const ntp = keyAt(root, 'ntp')
  if (ntp && truthOf(inside('ntp', 'enabled')) !== false)
    reader.tell(
      ntp.start,
      'info',
      'fleet-clock',
      'this changes where the guest has its time from, which its clock policy says too',
      'Choose a clock policy instead, or see that both say the same.',
    )
  const power = inside('power_state', 'mode')
  if (power && /^(?:poweroff|halt)$/.test(textOf(power) ?? ''))
    reader.tell(
      power.start,
      'warning',
      'power-state',
      'the guest turns itself off when its first boot is done',
      'Take "power_state" out unless that is meant.',
    )
  const bootcmd = keyAt(root, 'bootcmd')
  if (bootcmd && !reader.isTold(bootcmd.start))
    reader.tell(
      bootcmd.start,
      'info',
      'every-boot',
      'commands of "bootcmd" run early in every boot, before the network is up',
      'Use "runcmd" for what is to be done once.',
    )
}
