import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { MiB } from '../../../../../../src/ipc/units.ts'
import { ImageFiles } from '../../../../../../src/main/control/images/image-files.ts'
import { importImage } from '../../../../../../src/main/control/images/import/import-image.ts'
import { convertToQcow2 } from '../../../../../../src/main/control/images/import/qemu-img.ts'
import { checkVmdk } from '../../../../../../src/main/control/images/import/vmdk.ts'
import type { ImagesStore } from '../../../../../../src/main/control/store/images-store.ts'
import type { TaskContext } from '../../../../../../src/main/control/tasks/task-context.ts'
import { ovfOf, tarOf, writeOva } from '../../../../../support/ova.ts'
import { silentStep } from '../../../../../support/silent-step.ts'
import { aStore, aTempDir } from '../../a-store.ts'

let dir: string
let files: ImageFiles
let images: ImagesStore
let steps: string[]

beforeEach(async () => {
  dir = aTempDir()
  mkdirSync(join(dir, 'images'))
  files = new ImageFiles(join(dir, 'images'))
  await files.prepare(new Set(), Date.now())
  ;({ images } = aStore())
  steps = []
})

const at = (name: string) => join(dir, name)
const sha256 = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')
const kept = () => readdirSync(at('images')).filter((name) => name !== 'work')
const qemuImg = (...args: string[]) => execFileSync('qemu-img', args, { encoding: 'utf8' })

/** A raw disk of 8 MiB with something in it. */
function aDisk(name = 'disk.raw'): string {
  writeFileSync(at(name), '')
  truncateSync(at(name), 8 * MiB)
  const bytes = readFileSync(at(name))
  bytes.write('somebody’s data', 5 * MiB)
  writeFileSync(at(name), bytes)
  return at(name)
}

function aVmdk(subformat = 'streamOptimized'): Buffer {
  qemuImg('convert', '-f', 'raw', '-O', 'vmdk', '-o', `subformat=${subformat}`, aDisk(), at(`${subformat}.vmdk`))
  return readFileSync(at(`${subformat}.vmdk`))
}

function task(abort = new AbortController(), onStep: (name: string) => void = () => {}): TaskContext {
  return {
    id: 'task',
    signal: abort.signal,
    plan(all) {
      steps = all
    },
    step: (name, run) => {
      onStep(name)
      abort.signal.throwIfAborted()
      return run(silentStep)
    },
    skip() {},
    ask: () => Promise.reject(new Error('nothing is asked')),
  }
}

const take = (path: string, context = task()) =>
  importImage({ files, images }, { name: 'mine', path, arch: 'x86_64' }, context)
const nothingIsLeft = () => {
  expect(images.findByName('mine')).toBeUndefined()
  expect(kept()).toEqual([])
  expect(readdirSync(files.workDir)).toEqual([])
}

describe('a disk file of this computer', () => {
  it.each(['raw', 'qcow2'])('that is %s becomes an image with its own digest, as large as its disk', async (format) => {
    const raw = aDisk()
    const file = format === 'raw' ? raw : at('disk.qcow2')
    if (format === 'qcow2') qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, file)
    const { resultId } = await take(file)
    expect(images.find(resultId)).toMatchObject({
      ...{ name: 'mine', kind: 'disk', format, arch: 'x86_64', url: '', sha256: sha256(file), defaultDiskGb: 1 },
      description: `Imported from disk.${format}`,
    })
    expect(kept()).toEqual([sha256(file)])
    expect(sha256(join(at('images'), sha256(file)))).toBe(sha256(file))
    expect(readdirSync(files.workDir)).toEqual([])
    expect(steps).toEqual(['Look at file', 'Copy', 'Convert', 'Check disk', 'Add to catalogue'])
  })

  it.each(['streamOptimized', 'monolithicSparse'])(
    'in an OVA as %s VMDK is converted to a qcow2 that holds the same, with the sizes the OVF says',
    async (subformat) => {
      writeOva(at('vm.ova'), aVmdk(subformat), { manifest: true })
      const { resultId } = await take(at('vm.ova'))
      const row = images.find(resultId)!
      expect(row).toMatchObject({ format: 'qcow2', defaultVcpus: 2, defaultMemMb: 192, defaultDiskGb: 1 })
      const image = join(at('images'), row.sha256)
      expect(sha256(image)).toBe(row.sha256)
      qemuImg('convert', '-f', 'qcow2', '-O', 'raw', image, at('back.raw'))
      expect(sha256(at('back.raw'))).toBe(sha256(at('disk.raw')))
      expect(readdirSync(files.workDir)).toEqual([])
    },
  )

  it('in an OVA whose disk has not the digest its manifest names is refused, and nothing is left', async () => {
    const disk = aVmdk()
    const files = [
      { name: 'vm.ovf', content: ovfOf() },
      { name: 'vm.mf', content: `SHA256(disk1.vmdk)= ${'0'.repeat(64)}\n` },
      { name: 'disk1.vmdk', content: disk },
    ]
    writeFileSync(at('vm.ova'), tarOf(files))
    await expect(take(at('vm.ova'))).rejects.toMatchObject({
      code: 'image/import-failed',
      params: { file: 'vm.ova', detail: expect.stringContaining('it is damaged') },
    })
    nothingIsLeft()
  })

  it.each<[string, string, () => string | Buffer]>([
    [
      'a qcow2 on another disk',
      'it is a qcow2 that needs a backing file',
      () => {
        qemuImg('create', '-q', '-f', 'qcow2', '-b', aDisk(), '-F', 'raw', at('over.qcow2'))
        return readFileSync(at('over.qcow2'))
      },
    ],
    [
      'a qcow2 with its data in another file',
      'it is a qcow2 that needs an external data file',
      () => {
        qemuImg('create', '-q', '-f', 'qcow2', '-o', `data_file=${at('data')}`, at('ext.qcow2'), '8M')
        return readFileSync(at('ext.qcow2'))
      },
    ],
    ['a compressed file', 'it is a gzip archive', () => Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.alloc(4096)])],
    [
      'a disc',
      'it is an ISO 9660 disc',
      () => {
        const iso = Buffer.alloc(64 * 1024)
        iso.write('CD001', 32769)
        return iso
      },
    ],
    ['a description alone', 'it is a description without its disk', () => ovfOf()],
    [
      'an OVA of two disks',
      'it has 2 disks',
      () =>
        tarOf([
          { name: 'vm.ovf', content: ovfOf({ disks: '<ovf:Disk ovf:diskId="b"/>' }) },
          { name: 'disk1.vmdk', content: 'x' },
        ]),
    ],
    [
      'an OVA without its disk',
      'its disk disk1.vmdk is not in it',
      () => tarOf([{ name: 'vm.ovf', content: ovfOf() }]),
    ],
    [
      'an OVA with a way out',
      'it holds a file that is not at its top',
      () =>
        tarOf([
          { name: '../../escape', content: 'x' },
          { name: 'vm.ovf', content: ovfOf() },
        ]),
    ],
    [
      'an OVA with a link',
      'it holds a link or a device',
      () =>
        tarOf([
          { name: 'disk1.vmdk', content: '', kind: '2' },
          { name: 'vm.ovf', content: ovfOf() },
        ]),
    ],
    ['another archive', 'it holds 0 OVF descriptions', () => tarOf([{ name: 'a', content: 'x' }])],
  ])('that is %s is refused: %s; nothing is left', async (_what, detail, content) => {
    writeFileSync(at('file'), content())
    await expect(take(at('file'))).rejects.toMatchObject({
      code: 'image/format',
      params: { image: 'file', detail: expect.stringContaining(detail) },
    })
    nothingIsLeft()
  })

  it.each<[string, (vmdk: Buffer) => void]>([
    ['whose description names a file of this computer', (vmdk) => void vmdk.write('FLAT  ', vmdk.indexOf('SPARSE'))],
    [
      'that builds on another disk',
      (vmdk) => void vmdk.write('parentFileNameHint="/etc/passwd"\n', vmdk.indexOf('# Extent')),
    ],
    ['with the id of a parent', (vmdk) => void vmdk.write('12345678', vmdk.indexOf('parentCID=') + 10)],
    ['whose header sends readers to a description', (vmdk) => vmdk.fill(0, 12, 20)],
  ])('that is a VMDK %s is refused before any program reads it', async (_what, damage) => {
    const vmdk = aVmdk()
    damage(vmdk)
    writeOva(at('vm.ova'), vmdk)
    await expect(take(at('vm.ova'))).rejects.toMatchObject({ code: 'image/format' })
    nothingIsLeft()
  })

  const described = (text: string, length = text.length) => {
    const head = Buffer.alloc(MiB)
    head.write('KDMV')
    head.writeUInt32LE(1, 4)
    head.writeBigUInt64LE(16n, 12)
    head.writeBigUInt64LE(1n, 28)
    head.writeBigUInt64LE(BigInt(Math.ceil(length / 512)), 36)
    head.write(text, 512)
    return { head, tail: head.subarray(-1024), size: head.length }
  }
  const DESCRIPTION = '# Disk DescriptorFile\nparentCID=ffffffff\ncreateType="monolithicSparse"\nRW 16 SPARSE "x"\n'

  it('that is a VMDK is judged by as much of its description as readers take, however short its header calls it', () => {
    expect(checkVmdk(described(DESCRIPTION))).toBe(8192)
    const longer = `${DESCRIPTION}${'#'.repeat(512)}\nparentFileNameHint="/etc/passwd"\n`
    expect(() => checkVmdk(described(longer, 512))).toThrow('needs another disk')
  })

  it.each([
    ['lines', `# Disk DescriptorFile${'\n'.repeat(900_000)}`],
    ['blanks', `# Disk DescriptorFile\nparentCID=${' '.repeat(900_000)}"a`],
    ['blanks before a key', `# Disk DescriptorFile\nparentCID${' '.repeat(900_000)}x`],
    ['blanks in an extent', `${DESCRIPTION.replace('RW 16 SPARSE', `RW${' '.repeat(900_000)}`)}`],
  ])('that is a VMDK with a megabyte of %s in its description is refused at once', (_what, text) => {
    const began = performance.now()
    expect(() => checkVmdk(described(text))).toThrow('its disk is a VMDK')
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  it('that is a streamed VMDK is read by its footer, which says what its header says', () => {
    const streamed = aVmdk()
    const footer = Buffer.from(streamed.subarray(0, 512))
    streamed.writeBigUInt64LE(0xffffffffffffffffn, 56)
    const whole = (end: Buffer) => {
      const bytes = Buffer.concat([streamed, end, Buffer.alloc(512)])
      return { head: bytes, tail: bytes.subarray(-1024), size: bytes.length }
    }
    expect(checkVmdk(whole(footer))).toBe(8 * MiB)
    const other = Buffer.from(footer)
    other.writeBigUInt64LE(99n, 28)
    expect(() => checkVmdk(whole(other))).toThrow('its disk is a VMDK whose two headers differ')
    expect(() => checkVmdk(whole(Buffer.alloc(512)))).toThrow('its disk is a VMDK that is cut off')
  })

  it.each([
    ['is not there', () => {}, 'there is no such file'],
    ['is a folder', (path: string) => mkdirSync(path), 'it is not a file'],
    ['is a device', (path: string) => symlinkSync('/dev/zero', path), 'it is not a file'],
    ['is empty', (path: string) => writeFileSync(path, ''), 'it is empty'],
  ])('that %s is refused at once', async (_what, make, detail) => {
    make(at('odd'))
    await expect(take(at('odd'))).rejects.toMatchObject({
      code: 'image/import-impossible',
      params: { file: 'odd', detail },
    })
    nothingIsLeft()
  })

  it.each(['Copy', 'Convert', 'Check disk', 'Add to catalogue'])(
    'whose import is cancelled at "%s" leaves nothing',
    async (step) => {
      writeOva(at('vm.ova'), aVmdk())
      const abort = new AbortController()
      const stopAt = (name: string) => name === step && abort.abort(new Error('cancelled'))
      await expect(take(at('vm.ova'), task(abort, stopAt))).rejects.toThrow('cancelled')
      nothingIsLeft()
    },
  )

  it('whose name is taken by the time it is whole leaves no file nobody names', async () => {
    const file = aDisk()
    const taken = task(new AbortController(), (name) => {
      if (name !== 'Add to catalogue') return
      const sizes = { defaultVcpus: 0, defaultMemMb: 0, defaultDiskGb: 0, sizeBytes: null, description: '' }
      images.create({
        ...sizes,
        id: 'f'.repeat(32),
        name: 'mine',
        kind: 'disk',
        format: '',
        arch: 'x86_64',
        url: 'https://x.test',
        sha256: '9'.repeat(64),
      })
    })
    await expect(take(file, taken)).rejects.toMatchObject({ code: 'image/name-taken' })
    expect(kept()).toEqual([])
  })

  it('that would unpack to more than room was asked for ends, and fills no disk', async () => {
    writeFileSync(at('full.raw'), randomBytes(4 * MiB))
    const from = { file: at('full.raw'), format: 'raw', mostBytes: MiB }
    const converting = convertToQcow2(from, at('full.qcow2'), () => {}, new AbortController().signal)
    await expect(converting).rejects.toMatchObject({ code: 'image/import-failed' })
    expect(statSync(at('full.qcow2')).size).toBeLessThanOrEqual(MiB)
  })

  it('keeps its holes', async () => {
    const file = at('sparse.raw')
    writeFileSync(file, 'x')
    truncateSync(file, 256 * MiB)
    const { resultId } = await take(file)
    const image = join(at('images'), images.find(resultId)!.sha256)
    expect(Number(execFileSync('stat', ['-c', '%b', image], { encoding: 'utf8' })) * 512).toBeLessThan(2 * MiB)
  })
})
