import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRange, sizeIfPresent } from '../../src/agent/os/files.ts'
import { diskFormat, HEAD_BYTES, TAIL_BYTES } from '../../src/ipc/disk-image/image-format.ts'

const MiB = 1024 ** 2
let dir: string

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-formats-'))
  writeFileSync(join(dir, 'base.raw'), Buffer.alloc(MiB, 'x'))
  execFileSync('qemu-img', ['create', '-q', '-f', 'raw', join(dir, 'data.raw'), '4M'])
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function look(file: string) {
  const size = (await sizeIfPresent(file))!
  const head = await readRange(file, 0, HEAD_BYTES)
  return diskFormat({ head, tail: await readRange(file, Math.max(0, size - TAIL_BYTES), TAIL_BYTES), size })
}
const made = (name: string, format: string, options: string, ...more: string[]) => {
  const file = join(dir, name)
  const o = options === '' ? [] : ['-o', options.replaceAll('DIR', dir)]
  execFileSync('qemu-img', [
    'create',
    '-q',
    '-f',
    format,
    ...o,
    ...more.map((m) => m.replaceAll('DIR', dir)),
    file,
    '4M',
  ])
  return file
}

describe('images that qemu-img itself made', () => {
  it.each([
    ['plain', ''],
    ['of version 2', 'compat=0.10'],
    ['with small clusters', 'cluster_size=512'],
    ['with large clusters', 'cluster_size=2M'],
    ['with long mapping entries', 'extended_l2=on'],
    ['with lazy counts', 'lazy_refcounts=on'],
    ['with zstd compression', 'compression_type=zstd'],
    ['with all its room on the disk', 'preallocation=full'],
  ])('a qcow2 %s is taken', async (name, options) => {
    expect(await look(made(`${name}.qcow2`, 'qcow2', options))).toEqual({ format: 'qcow2', virtualBytes: 4 * MiB })
  })

  it('a qcow2 of compressed clusters is taken', async () => {
    const file = join(dir, 'compressed.qcow2')
    execFileSync('qemu-img', ['convert', '-c', '-f', 'raw', '-O', 'qcow2', join(dir, 'base.raw'), file])
    expect(await look(file)).toEqual({ format: 'qcow2', virtualBytes: MiB })
  })

  it.each([
    ['a qcow2 with a backing file', 'qcow2', 'backing_file=DIR/base.raw,backing_fmt=raw', 'backing file'],
    ['a qcow2 with an external data file', 'qcow2', 'data_file=DIR/data.raw', 'external data file'],
    ['a VMDK in one file', 'vmdk', 'subformat=monolithicSparse', 'a VMDK disk'],
    ['a VMDK as streams have it', 'vmdk', 'subformat=streamOptimized', 'a VMDK disk'],
    ['a VMDK that names its extents', 'vmdk', 'subformat=twoGbMaxExtentFlat', 'the description of a VMDK disk'],
    ['a VHDX', 'vhdx', '', 'a VHDX disk'],
    ['a growing VHD', 'vpc', 'subformat=dynamic', 'a VHD disk'],
    ['a fixed VHD', 'vpc', 'subformat=fixed', 'a VHD disk'],
    ['a VDI', 'vdi', '', 'a VDI disk'],
    ['a Parallels disk', 'parallels', '', 'a Parallels disk'],
    ['a QED disk', 'qed', '', 'a QED disk'],
  ])('%s is refused', async (name, format, options, words) => {
    await expect(look(made(`${name}.img`, format, options))).rejects.toThrow(words)
  })

  it('an encrypted qcow2 is refused', async () => {
    const secret = ['--object', 'secret,id=k,data=sesame']
    const file = made('secret.qcow2', 'qcow2', 'encrypt.format=aes,encrypt.key-secret=k', ...secret)
    await expect(look(file)).rejects.toThrow('an encrypted qcow2')
  })
})
