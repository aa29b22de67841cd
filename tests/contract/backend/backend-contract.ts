import { mkdir, rm } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BootImage } from '../../../src/agent/images/image-cache.ts'
import { sizeIfPresent } from '../../../src/agent/os/files.ts'
import { agentLayout, type VmLayout } from '../../../src/agent/records/layout.ts'
import { GiB } from '../../../src/ipc/units.ts'

import { type BackendUnderTest, bootFirst, live, SPEC, VM_ID } from './boot-first.ts'

/** What every backend promises; the fake is only worth something if it passes too. */
export function backendContract(name: string, open: () => Promise<BackendUnderTest>): void {
  describe(`backend contract: ${name}`, () => {
    let under: BackendUnderTest
    let vm: VmLayout

    beforeEach(async () => {
      under = await open()
      vm = agentLayout(under.stateDir).vmDir(VM_ID)
      await mkdir(vm.dir, { recursive: true })
    })
    afterEach(async () => {
      await under.backend.destroy(vm)
      await under.close()
      await rm(under.stateDir, { recursive: true, force: true })
    })

    const bootOnce = () => bootFirst(under, vm)

    it('a capable host passes preflight', async () => {
      await under.backend.preflight(live())
    })

    it('the root disk is there once prepared, and preparing again replaces it', async () => {
      await under.backend.prepareRootDisk(vm, SPEC, under.image, live())
      await under.backend.prepareRootDisk(vm, SPEC, under.image, live())
      expect(await sizeIfPresent(under.disk(vm))).toBeGreaterThan(0)
    })

    it('an image is never shrunk onto a smaller disk', async () => {
      const large: BootImage = { kind: 'disk', file: '/dev/null', format: 'raw', virtualBytes: 2 * GiB }
      await expect(under.backend.prepareRootDisk(vm, SPEC, large, live())).rejects.toMatchObject({
        code: 'image/too-big-for-disk',
        disposition: 'permanent',
      })
      expect(await sizeIfPresent(under.disk(vm))).toBeUndefined()
    })

    it('a booted VM runs, names its machine, and booting it again changes nothing', async () => {
      const booted = await bootOnce()
      expect(booted.machine).not.toBe('')
      const again = await under.backend.boot({ vm, spec: SPEC, image: under.image, machine: booted.machine }, live())
      expect(again.startedAt).toEqual(booted.startedAt)
      expect(await under.backend.running(vm)).toMatchObject({ startedAt: booted.startedAt })
    })

    it('a VM that was never booted does not run', async () => {
      expect(await under.backend.running(vm)).toBeUndefined()
    })

    it('what never ran is shut down and destroyed all the same', async () => {
      await under.backend.shutdown(vm, { graceMs: 60_000, hurry: new AbortController().signal }, live())
      await under.backend.destroy(vm)
      expect(await under.backend.running(vm)).toBeUndefined()
    })

    it('the record of what it can do fits what it does', async () => {
      const { capabilities } = under.backend
      expect(capabilities.suspend).toBe('suspend' in under.backend)
      await bootOnce()
      if (capabilities.addressSource === 'none') expect(await under.backend.address(vm)).toBe('')
      if (capabilities.addressSource === 'reservation') expect(await under.backend.address(vm)).not.toBe('')
    })

    it('shutdown without grace ends the VM, and may be repeated', async () => {
      await bootOnce()
      const options = { graceMs: 0, hurry: new AbortController().signal }
      await under.backend.shutdown(vm, options, live())
      expect(await under.backend.running(vm)).toBeUndefined()
      await under.backend.shutdown(vm, options, live())
    })

    it('destroy ends a running VM, and may be repeated', async () => {
      await bootOnce()
      await under.backend.destroy(vm)
      expect(await under.backend.running(vm)).toBeUndefined()
      await under.backend.destroy(vm)
    })

    it('an end that nobody asked for is told', async () => {
      await bootOnce()
      const told = Promise.withResolvers<string>()
      const stop = under.backend.onExit(told.resolve)
      await under.backend.running(vm)
      await under.kill(vm)
      expect(await told.promise).toBe(VM_ID)
      stop()
      expect(await under.backend.running(vm)).toBeUndefined()
    })

    it('an address nobody knows is empty', async () => {
      expect(await under.backend.address(vm)).toBe('')
      expect(await under.backend.networkAddress(vm)).toBe('')
    })
  })
}
