import { create } from '@bufbuild/protobuf'
import type { Backend, Booted } from '../../../src/agent/backends/backend.ts'
import type { BootImage } from '../../../src/agent/images/image-cache.ts'
import type { Nic } from '../../../src/agent/network/vm-network.ts'
import type { VmLayout } from '../../../src/agent/records/layout.ts'
import { writeSeed } from '../../../src/agent/seed/seed.ts'
import { type VmSpec, VmSpecSchema } from '../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'

export interface BackendUnderTest {
  backend: Backend
  /** A fresh state directory. */
  stateDir: string
  image: BootImage
  /** The guest's first disk. */
  disk(vm: VmLayout): string
  /** Ends the VM's process behind the backend's back. */
  kill(vm: VmLayout): Promise<void>
  close(): Promise<void>
}

export const live = () => AbortSignal.timeout(60_000)
export const VM_ID = '0123456789abcdef0123456789abcdef'
export const SPEC: VmSpec = create(VmSpecSchema, { vmId: VM_ID, name: 'web', vcpus: 1, memMb: 64, diskGb: 1 })

/** A first boot as the engine makes it. */
export async function bootFirst(under: BackendUnderTest, vm: VmLayout, nics?: readonly Nic[]): Promise<Booted> {
  await under.backend.prepareRootDisk(vm, SPEC, under.image, live())
  const seed = {
    vmId: VM_ID,
    hostname: 'web',
    authorizedKeys: [],
    userData: new Uint8Array(),
    ssh: { userCas: [] },
    clock: 'auto' as const,
  }
  await writeSeed(vm.seed, { ...seed, mac: '52:54:00:00:00:01' }, 0)
  const request = { vm, spec: SPEC, image: under.image, machine: '' }
  return await under.backend.boot({ ...request, ...(nics ? { nics } : {}) }, live())
}
