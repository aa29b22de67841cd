import { join } from 'node:path'
import { HEAD_BYTES, refuse, refuseCompressed } from '../../ipc/disk-image/image-format.ts'
import {
  ensureDir,
  extractRange,
  moveDurable,
  readIfPresent,
  readRange,
  removeTree,
  sizeIfPresent,
  tempBeside,
  writeDurable,
} from '../os/files.ts'
import { readTar, type TarEntry } from './tar.ts'

/** A Linux kernel reads at most this much command line on x86. */
const CMDLINE_LIMIT = 2047
const QCOW2 = Buffer.from('QFI\xfb', 'latin1')

export interface KernelImage {
  kind: 'kernel'
  /** Absolute paths. */
  kernel: string
  initrd: string
  cmdline: string
}

export interface UnpackOptions {
  signal: AbortSignal
  /** Called once with the bytes that will be written; rejects when there is no room. */
  requireRoom(bytes: number): Promise<void>
}

/** The unpacked form of a kernel image, made once beside it (temp + rename). Raises `image/format` (permanent). */
export async function unpackKernelImage(tar: string, dir: string, options: UnpackOptions): Promise<KernelImage> {
  if ((await sizeIfPresent(join(dir, 'cmdline')).catch(() => undefined)) === undefined) await unpack(tar, dir, options)
  const cmdline = ((await readIfPresent(join(dir, 'cmdline'), CMDLINE_LIMIT + 1))?.toString('utf8') ?? '').trim()
  return { kind: 'kernel', kernel: join(dir, 'kernel'), initrd: join(dir, 'initrd'), cmdline }
}

interface Parts {
  kernel: TarEntry
  initrd: TarEntry
  cmdline: string
}

async function unpack(tar: string, dir: string, { signal, requireRoom }: UnpackOptions): Promise<void> {
  const { kernel, initrd, cmdline } = await partsOf(tar)
  await requireRoom(kernel.size + initrd.size)
  const temp = tempBeside(dir)
  try {
    await ensureDir('kernel.dir', temp)
    await extract(tar, kernel, join(temp, 'kernel'), signal)
    await extract(tar, initrd, join(temp, 'initrd'), signal)
    await writeDurable('kernel.cmdline', join(temp, 'cmdline'), `${cmdline}\n`)
    await removeTree('kernel.clear', dir)
    await moveDurable('kernel.publish', temp, dir)
  } catch (error) {
    await removeTree('kernel.discard', temp)
    throw error
  }
}

/** Exactly a kernel, an initrd and a command line, each whole in the archive; names decide nothing but which is which. */
async function partsOf(tar: string): Promise<Parts> {
  const head = await readRange(tar, 0, HEAD_BYTES)
  refuseCompressed(head)
  if (head.subarray(0, 4).equals(QCOW2)) refuse('it is a qcow2 disk', 'Add it as kind "disk".')
  const size = (await sizeIfPresent(tar)) ?? 0
  const files = await readTar((offset, length) => readRange(tar, offset, length), 3)
  const find = (...names: string[]): TarEntry => {
    const entry = files.find((f) => names.includes(f.name))
    if (!entry) refuse(`it holds no ${names[0]}`)
    if (entry.size === 0 || entry.offset + entry.size > size) refuse(`its ${entry.name} is cut off`)
    return entry
  }
  const kernel = find('vmlinux', 'vmlinuz')
  const initrd = find('initrd')
  const cmdline = find('cmdline')
  const extra = files.find((f) => ![kernel, initrd, cmdline].includes(f))
  if (extra) refuse(`it holds ${JSON.stringify(extra.name.slice(0, 60))}`)
  if (cmdline.size > CMDLINE_LIMIT) refuse(`its cmdline is longer than ${CMDLINE_LIMIT} bytes`)
  const line = (await readRange(tar, cmdline.offset, cmdline.size)).toString('utf8').trim()
  if (/[\0-\x1f\x7f]/.test(line)) refuse('its cmdline is not one line of text')
  return { kernel, initrd, cmdline: line }
}

const extract = (tar: string, entry: TarEntry, to: string, signal: AbortSignal): Promise<void> =>
  extractRange('kernel.extract', tar, entry, to, signal)
