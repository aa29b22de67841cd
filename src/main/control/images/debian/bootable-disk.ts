import { randomBytes } from 'node:crypto'
import { open, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../../../ipc/faults.ts'
import { type CommandOptions, command } from '../command.ts'

const SECTOR = 512
/** The partition starts at 1 MiB; the boot loader stands between it and the first sector. */
const FIRST_SECTOR = 2048
const BOOT_CODE_BYTES = 440
const GRUB_DIR = '/usr/lib/grub/i386-pc'
const GRUB_MODULES = ['biosdisk', 'part_msdos', 'ext2', 'normal', 'linux', 'test', 'configfile']
/** GRUB of Debian 12 reads no ext4 with these. */
const FEATURES = '^metadata_csum_seed,^orphan_file'

/** A first sector with one bootable Linux partition up to the disk's end. Pure. */
export function bootSector(bootCode: Buffer, diskId: Buffer, sizeBytes: number): Buffer {
  const sector = Buffer.alloc(SECTOR)
  bootCode.copy(sector, 0, 0, BOOT_CODE_BYTES)
  diskId.copy(sector, BOOT_CODE_BYTES, 0, 4)
  // Bootable, Linux; CHS fields say "see the sector numbers".
  sector.set([0x80, 0xfe, 0xff, 0xff, 0x83, 0xfe, 0xff, 0xff], 446)
  sector.writeUInt32LE(FIRST_SECTOR, 454)
  sector.writeUInt32LE(sizeBytes / SECTOR - FIRST_SECTOR, 458)
  sector.set([0x55, 0xaa], 510)
  return sector
}

export interface DiskPlan {
  /** The tree that becomes the root file system. */
  root: string
  /** Written; must not exist. */
  file: string
  sizeBytes: number
  /** Runs a program so that files are root's: as it is for root, else under fakeroot. */
  asRoot: (argv: readonly string[]) => Promise<unknown>
}

/** A raw disk that boots by BIOS into the tree's `/boot/grub/grub.cfg`, made without mounting anything. Raises image/build-failed. */
export async function writeBootableDisk(plan: DiskPlan, options: CommandOptions): Promise<void> {
  const { file, sizeBytes } = plan
  const offset = FIRST_SECTOR * SECTOR
  await writeFile(file, '', { flag: 'wx' })
  await truncate(file, sizeBytes)
  const extended = `offset=${offset},lazy_itable_init=1,lazy_journal_init=1`
  const filesystem = ['mke2fs', '-q', '-F', '-t', 'ext4', '-O', FEATURES, '-L', 'root', '-m', '1', '-E', extended]
  await plan.asRoot([...filesystem, '-d', plan.root, file, `${(sizeBytes - offset) / 1024}k`])
  const core = `${file}.core`
  const prefix = '(hd0,msdos1)/boot/grub'
  await command('grub-mkimage', ['-O', 'i386-pc', '-d', GRUB_DIR, '-p', prefix, '-o', core, ...GRUB_MODULES], options)
  await writeBootLoader(file, sizeBytes, await readFile(core))
}

async function writeBootLoader(file: string, sizeBytes: number, core: Buffer): Promise<void> {
  if (core.length > (FIRST_SECTOR - 1) * SECTOR)
    throw new Fault('image/build-failed', 'permanent', { message: 'the boot loader does not fit before the partition' })
  const bootCode = await readFile(join(GRUB_DIR, 'boot.img'))
  const handle = await open(file, 'r+')
  try {
    await handle.write(bootSector(bootCode, randomBytes(4), sizeBytes), 0, SECTOR, 0)
    await handle.write(core, 0, core.length, SECTOR)
  } finally {
    await handle.close()
  }
}
