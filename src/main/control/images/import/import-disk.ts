import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { diskFormat, HEAD_BYTES, TAIL_BYTES } from '../../../../ipc/disk-image/image-format.ts'
import { compressionOf } from '../../../../ipc/disk-image/other-formats.ts'
import { Fault } from '../../../../ipc/faults.ts'
import type { TaskContext } from '../../tasks/task-context.ts'
import { type ArchiveFile, indexArchive } from './archive.ts'
import { isPlainName, manifestDigest, type Ovf, parseOvf } from './ovf.ts'
import { convertToQcow2, diskInfo, hasQemuImg } from './qemu-img.ts'
import { copyPart, digestOf, openSource, readAt, type SourceFile } from './source-file.ts'
import { checkVmdk, isVmdk, VMDK_HEAD_BYTES, VMDK_TAIL_BYTES } from './vmdk.ts'

/** The steps in order, for `task.plan`. */
export const IMPORT_STEPS = ['Look at file', 'Copy', 'Convert', 'Check disk'] as const

const MAX_OVF_BYTES = 1024 * 1024
/** A disk may pack a little worse than it was. */
const CONVERT_SPARE_BYTES = 64 * 1024 * 1024
const MAX_MANIFEST_BYTES = 256 * 1024

export interface ImportDisk {
  path: string
  /** For everything temporary; on the file system where the image goes. */
  dir: string
  requireSpace(bytes: number): Promise<void>
  step: TaskContext['step']
  skip: TaskContext['skip']
  signal: AbortSignal
}

export interface ImportedDisk {
  /** In `dir`; the caller owns it. */
  file: string
  format: 'qcow2' | 'raw'
  sha256: string
  sizeBytes: number
  virtualBytes: number
  /** 0 = nobody says. */
  vcpus: number
  memMb: number
}

/** What of the file is the disk. */
interface Part {
  offset: number
  size: number
  /** "vmdk" is converted. */
  format: 'qcow2' | 'raw' | 'vmdk'
  ovf: Ovf | undefined
  /** As the archive itself says. */
  digest: { algorithm: string; hex: string } | undefined
}

/**
 * A disk of somebody's as an image that stands alone: checked by its bytes before any program is told to read it, copied
 * first so that nobody changes it meanwhile. Raises image/format, image/import-impossible and image/import-failed.
 */
export async function importDisk(options: ImportDisk): Promise<ImportedDisk> {
  const { path, dir, step, skip, signal } = options
  const name = basename(path)
  const source = await openSource(path, name)
  try {
    const part = await step('Look at file', async ({ detail }) => {
      const found = await lookAt(source, name)
      if (found.format === 'vmdk' && !(await hasQemuImg(signal))) throw noQemuImg(name)
      await options.requireSpace(found.format === 'vmdk' ? 2 * found.size : found.size)
      detail(found.ovf ? `an OVA with ${found.ovf.disk}` : `a ${found.format} disk`)
      return found
    })
    const copy = join(dir, 'disk')
    const digests = await step('Copy', ({ progress }) =>
      copyPart(source, part, copy, { ...(part.digest ? { also: part.digest.algorithm } : {}), progress, signal }),
    )
    if (part.digest && part.digest.hex !== digests.also)
      throw new Fault('image/import-failed', 'permanent', {
        file: name,
        detail: 'it is damaged: its disk has not the digest its manifest names',
      })
    const held = await openSource(copy, name)
    const { virtualBytes } = await wholeDisk(held, name, part.format).finally(() => held.handle.close())
    const sizes = { virtualBytes, vcpus: part.ovf?.vcpus ?? 0, memMb: part.ovf?.memMb ?? 0 }
    if (part.format !== 'vmdk') {
      skip('Convert', 'it can be used as it is')
      await step('Check disk', async ({ detail }) => detail(await lookAgain(copy, part.format, virtualBytes, signal)))
      return { file: copy, format: part.format, sha256: digests.sha256, sizeBytes: part.size, ...sizes }
    }
    return { ...(await converted(options, copy, virtualBytes)), ...sizes }
  } catch (error) {
    throw named(error, name)
  } finally {
    await source.handle.close()
  }
}

async function converted({ dir, step, signal }: ImportDisk, copy: string, virtualBytes: number) {
  const file = join(dir, 'disk.qcow2')
  await step('Convert', async ({ progress }) => {
    const { needsOthers } = await diskInfo(copy, 'vmdk', signal)
    if (needsOthers) throw new Fault('image/import-failed', 'permanent', { detail: 'its disk needs other files' })
    // What room was asked for, and some for tables.
    const mostBytes = (await stat(copy)).size + CONVERT_SPARE_BYTES
    await convertToQcow2(
      { file: copy, format: 'vmdk', mostBytes },
      file,
      (permille) => progress(permille, 1_000),
      signal,
    )
  })
  return await step('Check disk', async () => {
    const held = await openSource(file, 'disk.qcow2')
    try {
      const found = await wholeDisk(held, 'disk.qcow2', 'qcow2')
      if (found.virtualBytes !== virtualBytes)
        throw new Fault('image/import-failed', 'transient', { detail: 'it is of another size once converted' })
      return { file, format: 'qcow2' as const, sha256: await digestOf(held, signal), sizeBytes: held.size }
    } finally {
      await held.handle.close()
    }
  })
}

/** qemu-img's own reading, where it is here: it must see the same disk, and no other file. */
async function lookAgain(file: string, format: string, virtualBytes: number, signal: AbortSignal): Promise<string> {
  if (!(await hasQemuImg(signal))) return 'by its header; qemu-img is not installed to read more of it'
  const info = await diskInfo(file, format, signal)
  if (info.needsOthers) throw new Fault('image/import-failed', 'permanent', { detail: 'its disk needs other files' })
  if (format === 'qcow2' && info.virtualBytes !== virtualBytes)
    throw new Fault('image/import-failed', 'permanent', { detail: 'its header is damaged' })
  return ''
}

async function lookAt(source: SourceFile, name: string): Promise<Part> {
  const head = await readAt(source, 0, HEAD_BYTES)
  const compressed = compressionOf(head)
  if (compressed) throw notUsable(name, `it is ${compressed.name}`, `Unpack it first: "${compressed.unpack}".`)
  if (/^\s*<\?xml|^\s*<[\w:]*Envelope/i.test(head.toString('latin1', 0, 256)))
    throw notUsable(
      name,
      'it is a description without its disk',
      'Pack both into one OVA: "tar -cf NAME.ova NAME.ovf DISK".',
    )
  if (head.toString('latin1', 257, 262) === 'ustar') return await lookIntoArchive(source, name)
  const whole = { offset: 0, size: source.size, ovf: undefined, digest: undefined }
  return { ...whole, ...(await wholeDisk(source, name, undefined)) }
}

async function lookIntoArchive(source: SourceFile, name: string): Promise<Part> {
  try {
    const files = await indexArchive((offset, length) => readAt(source, offset, length), source.size)
    const text = async (file: ArchiveFile, most: number) => {
      if (file.size > most) throw new Error(`its ${file.name.slice(0, 60)} is larger than ${most} bytes`)
      return (await readAt(source, file.offset, file.size)).toString('utf8')
    }
    if (!files.every((file) => isPlainName(file.name))) throw new Error('it holds a file that is not at its top')
    const descriptions = files.filter((file) => file.name.endsWith('.ovf'))
    if (descriptions.length !== 1)
      throw new Error(`it holds ${descriptions.length} OVF descriptions, and an OVA has one`)
    const ovf = parseOvf(await text(descriptions[0]!, MAX_OVF_BYTES))
    const disk = files.find((file) => file.name === ovf.disk)
    if (!disk) throw new Error(`its disk ${ovf.disk} is not in it`)
    const manifest = files.find((file) => file.name.endsWith('.mf'))
    const digest = manifest && manifestDigest(await text(manifest, MAX_MANIFEST_BYTES), ovf.disk)
    const within = { ...source, size: disk.size }
    const { format } = await wholeDisk(within, name, undefined, disk.offset)
    return { offset: disk.offset, size: disk.size, format, ovf, digest }
  } catch (error) {
    if (error instanceof Fault) throw error
    throw notUsable(name, error instanceof Error ? error.message : String(error), 'Use an OVA of one VM with one disk.')
  }
}

/** The disk by its bytes; `known` = what it was before it was copied. */
async function wholeDisk(source: SourceFile, name: string, known: Part['format'] | undefined, offset = 0) {
  const at = (from: number, length: number) =>
    readAt(source, offset + from, Math.max(0, Math.min(length, source.size - from)))
  const { size } = source
  const head = await at(0, known === 'raw' ? HEAD_BYTES : VMDK_HEAD_BYTES)
  if (isVmdk(head)) {
    const tail = await at(Math.max(0, size - VMDK_TAIL_BYTES), VMDK_TAIL_BYTES)
    try {
      return { format: 'vmdk' as const, virtualBytes: checkVmdk({ head, tail, size }) }
    } catch (error) {
      throw notUsable(
        name,
        error instanceof Error ? error.message : String(error),
        'Export it anew as one sparse disk.',
      )
    }
  }
  const tail = await at(Math.max(0, size - TAIL_BYTES), TAIL_BYTES)
  const found = diskFormat({ head: head.subarray(0, HEAD_BYTES), tail, size })
  if (known !== undefined && found.format !== known)
    throw notUsable(name, 'it changed while it was read', 'Import it again.')
  return found
}

const notUsable = (image: string, detail: string, next: string): Fault =>
  new Fault('image/format', 'permanent', { image, detail, next })

const noQemuImg = (file: string): Fault =>
  new Fault('image/import-impossible', 'permanent', {
    file,
    detail: 'its disk is a VMDK, and qemu-img is not installed to convert it',
    next: 'Install qemu-img (Debian: qemu-utils) and try again.',
  })

/** With the name of the file in what the person reads. */
function named(error: unknown, file: string): unknown {
  if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
    return new Fault('image/import-failed', 'transient', {
      file,
      detail: 'there is no space left',
      next: 'Make room and import it again.',
    })
  if (!(error instanceof Fault) || !['image/import-failed', 'image/format'].includes(error.code)) return error
  const params = error.code === 'image/format' ? { image: file } : { file }
  return new Fault(error.code, error.disposition, { ...params, ...error.params }, { cause: error })
}
