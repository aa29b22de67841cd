import { basename, join } from 'node:path'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { isId, isSha256 } from '../../ipc/names.ts'
import { type CollectableCache, ImageCollector, type ImageUses } from '../images/image-collector.ts'
import { ImageUsage } from '../images/image-usage.ts'
import { backingFileOf } from '../images/qcow2-backing.ts'
import { isAbsent, listDir } from '../os/files.ts'
import type { DesiredStore } from '../records/desired-state.ts'
import type { AgentLayout } from '../records/layout.ts'
import type { VmRecords } from '../records/vm-records.ts'

export interface ImageUsesDeps {
  layout: AgentLayout
  records: Pick<VmRecords, 'list' | 'read'>
  desired: Pick<DesiredStore, 'load'>
}

/**
 * Every image that a wanted VM, a record (quarantined ones included) or a disk on this host refers to. Read from the
 * disk, where all three are before anybody acts on them. What cannot be read makes the answer incomplete, and says so.
 */
export async function imageUses({ layout, records, desired }: ImageUsesDeps): Promise<ImageUses> {
  const users = new Map<string, Set<string>>()
  const use = (sha256: string, name: string) => users.set(sha256, (users.get(sha256) ?? new Set()).add(name))
  let unknown = ''
  const wanted = await desired.load()
  if (wanted.kind === 'unreadable') unknown = 'the desired state cannot be read'
  if (wanted.kind === 'desired')
    for (const { imageSha256, name } of wanted.desired.snapshot.state?.vms ?? []) use(imageSha256, name)
  const names = new Map<string, string>()
  for (const id of await records.list()) {
    const read = await records.read(id)
    if (read.kind === 'unreadable') unknown = `the record of VM ${id} cannot be read`
    if (read.kind !== 'record') continue
    names.set(id, read.record.spec.name)
    use(read.record.spec.imageSha256, read.record.spec.name)
  }
  for (const id of (await listDir(layout.vms)).filter(isId)) {
    try {
      const base = basename(await backingFileOf(layout.vmDir(id).disk))
      if (isSha256(base)) use(base, names.get(id) ?? id)
    } catch (error) {
      if (!isAbsent(error)) unknown = `the disk of VM ${names.get(id) ?? id} cannot be read`
    }
  }
  return { users: new Map([...users].map(([sha256, vms]) => [sha256, [...vms].sort()])), unknown }
}

/** A running collector of the host's cache; whoever started it stops it. */
export async function startCollector(
  cache: CollectableCache & { onShortage(makeRoom: (missing: number) => Promise<void>): void },
  { clock, log, ...deps }: ImageUsesDeps & { clock: Clock; log: Log },
): Promise<ImageCollector> {
  const usage = await ImageUsage.open(join(deps.layout.images, 'usage.json'))
  const collector = new ImageCollector({ cache, usage, uses: () => imageUses(deps), clock, log })
  cache.onShortage((missing) => collector.makeRoom(missing))
  collector.start()
  return collector
}
