import { Fault } from '../../../ipc/faults.ts'
import type { CreateVmRequest } from '../../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { TemplateRow, TemplateSpec } from '../store/templates-store.ts'
import type { VmRow } from '../store/vm-row.ts'

/** How the VM is made, without keys and CAs. `imageName` '' = not in the catalogue. Raises template/no-image. */
export function templateOf(vm: VmRow, imageName: string): { spec: TemplateSpec; cloudInit: Uint8Array } {
  if (imageName === '' && vm.imageUrl === '') throw new Fault('template/no-image', 'permanent', { vm: vm.name })
  const byUrl = imageName === '' ? { imageUrl: vm.imageUrl, imageSha256: vm.imageSha256 } : NO_URL
  const { vcpus, memMb, diskGb, network, backend, labels, autostart, autostartDelayS, autostartOrder } = vm
  return {
    spec: {
      ...{ image: imageName, ...byUrl, vcpus, memMb, diskGb, network, backend, labels },
      ...{ autostart, autostartDelayS, autostartOrder, clockPolicy: vm.clockPolicy, protected: vm.protected },
    },
    cloudInit: vm.cloudInit,
  }
}

const NO_URL = { imageUrl: '', imageSha256: '' }

/** The request with what the template gives where it says nothing; labels of both, its own first. */
export function withTemplate(request: CreateVmRequest, { spec, cloudInit }: TemplateRow): CreateVmRequest {
  const { image, imageUrl, imageSha256 } = spec
  const names = request.image !== '' || request.imageUrl !== '' || request.imageSha256 !== ''
  return {
    ...request,
    ...(names ? {} : { image, imageUrl, imageSha256 }),
    vcpus: request.vcpus || spec.vcpus,
    memMb: request.memMb || spec.memMb,
    diskGb: request.diskGb || spec.diskGb,
    network: request.network || spec.network,
    backend: request.backend || spec.backend,
    labels: { ...spec.labels, ...request.labels },
    autostart: request.autostart ?? spec.autostart,
    autostartDelayS: request.autostartDelayS || spec.autostartDelayS,
    autostartOrder: request.autostartOrder || spec.autostartOrder,
    clockPolicy: request.clockPolicy || spec.clockPolicy,
    protected: request.protected || spec.protected,
    cloudInit: request.cloudInit.length > 0 ? request.cloudInit : cloudInit,
  }
}
