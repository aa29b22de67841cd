import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agentLayout, type VmLayout } from '../../../src/agent/records/layout.ts'
import { VmSpecSchema } from '../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { GiB, MiB } from '../../../src/ipc/units.ts'
import { type BackendUnderTest, bootFirst, live, SPEC, VM_ID } from './boot-first.ts'

const CLONE_ID = 'c'.repeat(32)
const NOTE = 'what its guest wrote'

/** What every backend promises of disks that grow and are copied; `grows` = under a running guest too. */
export function diskContract(name: string, open: () => Promise<BackendUnderTest>, { grows }: { grows: boolean }): void {
  describe(`disks of VMs: ${name}`, () => {
    let under: BackendUnderTest
    let vm: VmLayout
    let clone: VmLayout

    beforeEach(async () => {
      under = await open()
      vm = agentLayout(under.stateDir).vmDir(VM_ID)
      clone = agentLayout(under.stateDir).vmDir(CLONE_ID)
      for (const { dir } of [vm, clone]) mkdirSync(dir, { recursive: true })
    })
    afterEach(async () => {
      for (const each of [vm, clone]) await under.backend.destroy(each)
      await under.close()
      rmSync(under.stateDir, { recursive: true, force: true })
    })

    const info = (of: VmLayout) => {
      const args = ['info', '-U', '--output=json', under.disk(of)]
      return JSON.parse(execFileSync('qemu-img', args, { encoding: 'utf8' }))
    }
    const sizeOf = (of: VmLayout): number => info(of)['virtual-size']
    const formatOf = (of: VmLayout): string => (under.disk(of).endsWith('.qcow2') ? 'qcow2' : 'raw')
    const io = (of: VmLayout, ...commands: string[]) =>
      execFileSync('qemu-io', ['-f', formatOf(of), ...commands.flatMap((c) => ['-c', c]), under.disk(of)], {
        encoding: 'utf8',
      })
    const write = (of: VmLayout, at: number) => {
      const file = join(under.stateDir, 'note')
      writeFileSync(file, NOTE.padEnd(512))
      io(of, `write -s ${file} ${at} 512`)
    }
    const read = (of: VmLayout, at: number) => io(of, `read -v ${at} 512`).replace(/.*: {2}([0-9a-f ]{47}) .*/g, '$1')
    const holds = (of: VmLayout, at: number) =>
      read(of, at).replaceAll(/\s/g, '').includes(Buffer.from(NOTE).toString('hex'))
    const made = () => under.backend.prepareRootDisk(vm, SPEC, under.image, live())
    const cloneSpec = (diskGb = 1) =>
      create(VmSpecSchema, { vmId: CLONE_ID, name: 'copy', vcpus: 1, memMb: 64, diskGb })
    const copied: [number, number][] = []
    const copy = (diskGb = 1, signal = live(), requireRoom: (bytes: number) => Promise<void> = async () => {}) =>
      under.backend.cloneRootDisk!(
        {
          vm: clone,
          spec: cloneSpec(diskGb),
          image: under.image,
          source: { vm, name: 'web' },
          progress: (done, total) => copied.push([done, total]),
          requireRoom,
        },
        signal,
      )

    it('a disk of a VM that is off grows, keeps what is on it, and never shrinks', async () => {
      await made()
      write(vm, 512 * MiB)
      expect(await under.backend.growDisk!(vm, 3, live())).toBe(true)
      expect(sizeOf(vm)).toBe(3 * GiB)
      expect(await under.backend.growDisk!(vm, 2, live())).toBe(true)
      expect(await under.backend.growDisk!(vm, 3, live())).toBe(true)
      expect(sizeOf(vm)).toBe(3 * GiB)
      expect(holds(vm, 512 * MiB)).toBe(true)
    })

    it(`a disk of a running VM ${grows ? 'grows under it' : 'waits for its stop'}, and it runs on`, async () => {
      const { startedAt } = await bootFirst(under, vm)
      expect(await under.backend.growDisk!(vm, 3, live())).toBe(grows)
      expect(await under.backend.growDisk!(vm, 2, live())).toBe(grows)
      expect(sizeOf(vm)).toBe(grows ? 3 * GiB : GiB)
      expect(await under.backend.running(vm)).toMatchObject({ startedAt })
      await under.backend.destroy(vm)
      expect(await under.backend.growDisk!(vm, 3, live())).toBe(true)
      expect(sizeOf(vm)).toBe(3 * GiB)
    })

    it('a copy has all that is on the disk, stands on the same image, and each goes its own way then', async () => {
      await made()
      write(vm, 512 * MiB)
      await copy()
      expect(holds(clone, 512 * MiB)).toBe(true)
      expect(info(clone)['backing-filename']).toBe(info(vm)['backing-filename'])
      write(clone, 256 * MiB)
      expect(holds(vm, 256 * MiB)).toBe(false)
      expect(readdirSync(clone.dir)).toHaveLength(1)
    })

    it('a copy may be larger, and is never smaller: then there is none', async () => {
      await made()
      await under.backend.growDisk!(vm, 2, live())
      await expect(copy(1)).rejects.toMatchObject({
        code: 'image/too-big-for-disk',
        disposition: 'permanent',
        params: { image: 'web', needed: '2.0 GiB', disk: '1 GiB' },
      })
      expect(readdirSync(clone.dir)).toEqual([])
      await copy(4)
      expect([sizeOf(vm), sizeOf(clone)]).toEqual([2 * GiB, 4 * GiB])
    })

    it('a copy replaces what an unfinished one left', async () => {
      await made()
      writeFileSync(under.disk(clone), 'torn')
      await copy()
      expect(sizeOf(clone)).toBe(GiB)
    })

    it('a copy for which there is no room, or that is cut short, leaves nothing', async () => {
      await made()
      const full = new Error('there is no room')
      await expect(copy(1, live(), async () => Promise.reject(full))).rejects.toBe(full)
      const over = AbortSignal.abort(new Error('enough'))
      await expect(copy(1, over)).rejects.toThrow('enough')
      expect(readdirSync(clone.dir)).toEqual([])
    })

    it('a copy whose source is gone fails and leaves nothing', async () => {
      expect(existsSync(under.disk(vm))).toBe(false)
      await expect(copy()).rejects.toThrow()
      expect(readdirSync(clone.dir)).toEqual([])
    })
  })
}
