import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../ipc/faults.ts'
import {
  ensureDir,
  extractRange,
  moveDurable,
  readRange,
  removeTree,
  sizeIfPresent,
  tempBeside,
  writeDurable,
} from '../os/files.ts'
import { readTar, type TarEntry } from './tar.ts'

/** A Linux kernel reads at most this much command line on x86. */
const CMDLINE_LIMIT = 2047

export interface KernelImage {
  kind: 'kernel'
  /** Absolute paths. */
  kernel: string
  initrd: string
  cmdline: string
}

/** The unpacked form of a kernel image, made once beside it (temp + rename). Raises `image/format` (permanent). */
export async function unpackKernelImage(tar: string, dir: string, signal: AbortSignal): Promise<KernelImage> {
  if ((await sizeIfPresent(join(dir, 'cmdline'))) === undefined) await unpack(tar, dir, signal)
  const cmdline = (await readFile(join(dir, 'cmdline'), 'utf8')).trim()
  return { kind: 'kernel', kernel: join(dir, 'kernel'), initrd: join(dir, 'initrd'), cmdline }
}

async function unpack(tar: string, dir: string, signal: AbortSignal): Promise<void> {
  const refuse = (detail: string) => new Fault('image/format', 'permanent', { detail })
  const size = (await sizeIfPresent(tar)) ?? 0
  const files = await readTar((offset, length) => readRange(tar, offset, length), 3)
  const find = (...names: string[]): TarEntry => {
    const entry = files.find((f) => names.includes(f.name))
    if (!entry) throw refuse(`it holds no ${names[0]}`)
    if (entry.size === 0 || entry.offset + entry.size > size) throw refuse(`its ${entry.name} is cut off`)
    return entry
  }
  const kernel = find('vmlinux', 'vmlinuz')
  const initrd = find('initrd')
  const cmdline = find('cmdline')
  const extra = files.find((f) => ![kernel, initrd, cmdline].includes(f))
  if (extra) throw refuse(`it holds ${JSON.stringify(extra.name.slice(0, 60))}`)
  if (cmdline.size > CMDLINE_LIMIT) throw refuse(`its cmdline is longer than ${CMDLINE_LIMIT} bytes`)
  const line = (await readRange(tar, cmdline.offset, cmdline.size)).toString('utf8').trim()
  if (/[\0-\x1f\x7f]/.test(line)) throw refuse('its cmdline is not one line of text')

  const temp = tempBeside(dir)
  try {
    await ensureDir('kernel.dir', temp)
    await extract(tar, kernel, join(temp, 'kernel'), signal)
    await extract(tar, initrd, join(temp, 'initrd'), signal)
    await writeDurable('kernel.cmdline', join(temp, 'cmdline'), `${line}\n`)
    await removeTree('kernel.clear', dir)
    await moveDurable('kernel.publish', temp, dir)
  } catch (error) {
    await removeTree('kernel.discard', temp)
    throw error
  }
}

const extract = (tar: string, entry: TarEntry, to: string, signal: AbortSignal): Promise<void> =>
  extractRange('kernel.extract', tar, entry, to, signal)
