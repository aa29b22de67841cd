import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../os/exec.ts'
import { listDir } from '../os/files.ts'
import { BridgeGuard } from './bridge-guard.ts'
import { SYS_CLASS_NET } from './host-bridges.ts'
import { IpTaps, tapName } from './tap.ts'

/**
 * Takes second NICs of these VMs off the operator's bridges, and the guard with the last one of this host. What is gone,
 * for people. Idempotent; raises `vmm/failed` and `vm/network-failed`. None of the VMs may run.
 */
export async function removeOperatorNics(
  run: Run,
  vmIds: readonly string[],
  sysClassNet = SYS_CLASS_NET,
): Promise<string[]> {
  const has = (name: string) => statSync(join(sysClassNet, name), { throwIfNoEntry: false }) !== undefined
  const taps = vmIds.map((vmId) => tapName(vmId, 1)).filter(has)
  for (const tap of taps) await new IpTaps(run).remove(tap)
  const removed = taps.map((tap) => `interface ${tap}`)
  const others = (await listDir(sysClassNet)).some((name) => name.startsWith('eil-'))
  const guard = new BridgeGuard(run)
  if (others || !(await guard.look([]).catch(() => undefined))) return removed
  await guard.remove()
  return [...removed, 'nft table bridge eitri']
}
