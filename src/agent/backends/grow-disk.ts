import { GiB } from '../../ipc/units.ts'
import { virtualBytesOf } from '../images/qcow2-backing.ts'
import { namingFullDisk } from '../os/disk-space.ts'
import type { Run } from '../os/exec.ts'
import { growFile } from '../os/files.ts'
import { namedIfMissing, requireDone } from './root-disk.ts'

const GROW_MS = 60_000

/** Of a VM that does not run; a disk that is as large already is left alone. Raises `vmm/failed` and `vmm/missing`. */
export async function growQcow2(run: Run, disk: string, diskGb: number, signal: AbortSignal): Promise<void> {
  if ((await virtualBytesOf(disk)) >= diskGb * GiB) return
  const args = ['resize', '-q', '-f', 'qcow2', disk, `${diskGb}G`]
  const ended = await run('disk.grow', 'qemu-img', args, { signal, timeoutMs: GROW_MS }).catch((error) => {
    throw namedIfMissing(error)
  })
  requireDone(ended)
}

/** The same for a raw disk: the new bytes are a hole. */
export const growRaw = (disk: string, diskGb: number): Promise<void> =>
  namingFullDisk(disk, 0, () => growFile('disk.grow-raw', disk, diskGb * GiB))
