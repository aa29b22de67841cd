import { z } from 'zod'
import { Fault } from '../../ipc/faults.ts'
import { PublishPortResponseSchema } from '../../ipc/gen/eitri/fleet/v1/port_pb.js'
import {
  CreateVmResponseSchema,
  DeleteVmResponseSchema,
  RestartVmResponseSchema,
  StartVmResponseSchema,
  StopVmResponseSchema,
  UndeleteVmResponseSchema,
  UpdateVmResponseSchema,
  type Vm,
} from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { contractJson as json } from '../contract-json.ts'
import { type ChangeTool, changeTool, type Preview, ref, type ToolCall } from './tools.ts'

const size = (what: string) => z.number().int().min(1).optional().describe(what)
const sizes = { vcpus: size('Virtual processors.'), mem_mb: size('MiB.'), disk_gb: size('GiB; a disk only grows.') }
/** What stands in a preview is one line, quoted, and can end neither. */
const word = z
  .string()
  .max(255)
  .regex(/^[^\0-\x1f\x7f"]*$/, 'no control characters and no quotes')
const labels = z.record(word, word).optional()
const labelled = (set: Record<string, string> | undefined) =>
  Object.entries(set ?? {}).map(([key, value]) => `label ${key} to "${value}"`)

async function vmOf({ fleet, signal }: ToolCall, name: string): Promise<Vm> {
  const { vm } = await fleet.vms.getVm({ vm: name }, { signal })
  if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: name })
  return vm
}

/** Of a VM what an agreement depends on; its numbers move all the time. */
const seenOf = ({ id, name, hostId, desiredPower, deletedAt, protected: kept, vcpus, memMb, diskGb }: Vm) =>
  JSON.stringify([id, name, hostId, desiredPower, deletedAt !== undefined, kept, vcpus, memMb, diskGb])

/** The VM is fixed by its id at the preview: another that gets its name meanwhile is never meant. */
async function onVm(
  call: ToolCall,
  name: string,
  says: (vm: Vm) => string,
  apply: (call: ToolCall, id: string) => ReturnType<Preview['apply']>,
): Promise<Preview> {
  const vm = await vmOf(call, name)
  const where = `${vm.name} (${vm.id}) on ${vm.hostName}`
  const unknown = vm.hostUnknown ? ' Its host is not answering: this happens when it does.' : ''
  return {
    says: `${says(vm).replace('{vm}', where)}${unknown}`,
    seen: seenOf(vm),
    look: async (later) => seenOf(await vmOf(later, vm.id)),
    apply: (later) => apply(later, vm.id),
  }
}

const vmInput = { vm: ref('VM') }

/** What can be changed, each by preview and token. Nothing here purges: what cannot be undone is left to a person. */
export const CHANGE_TOOLS: readonly ChangeTool[] = [
  changeTool({
    name: 'create_vm',
    description: 'Makes a VM.',
    input: {
      name: ref('VM to be'),
      host: ref('host').optional(),
      image: ref('image').optional(),
      ...sizes,
      labels,
      power: z.enum(['running', 'stopped']).default('running'),
    },
    async preview(_, args) {
      const given = [
        args.vcpus && `${args.vcpus} vCPU`,
        args.mem_mb && `${args.mem_mb} MiB`,
        args.disk_gb && `${args.disk_gb} GiB`,
      ]
      const of = [args.image ?? 'the default image', ...given.filter(Boolean), ...labelled(args.labels)].join(', ')
      return {
        says: `Makes ${args.name} of ${of} on ${args.host ?? 'the host with most room'}, ${args.power}.`,
        seen: '',
        look: async () => '',
        apply: async ({ fleet, signal }) => {
          const request = {
            name: args.name,
            host: args.host ?? '',
            image: args.image ?? '',
            power: args.power,
            labels: args.labels ?? {},
            ...(args.vcpus ? { vcpus: args.vcpus } : {}),
            ...(args.mem_mb ? { memMb: args.mem_mb } : {}),
            ...(args.disk_gb ? { diskGb: args.disk_gb } : {}),
          }
          return json(CreateVmResponseSchema, await fleet.vms.createVm(request, { signal }))
        },
      }
    },
  }),
  changeTool({
    name: 'start_vm',
    description: 'Starts a VM.',
    input: vmInput,
    preview: (call, { vm }) =>
      onVm(
        call,
        vm,
        () => 'Starts {vm}.',
        async ({ fleet, signal }, id) => json(StartVmResponseSchema, await fleet.vms.startVm({ vm: id }, { signal })),
      ),
  }),
  changeTool({
    name: 'stop_vm',
    description: 'Stops a VM: the guest is asked, or with force not asked.',
    input: { ...vmInput, force: z.boolean().default(false) },
    preview: (call, { vm, force }) =>
      onVm(
        call,
        vm,
        () => (force ? 'Stops {vm} without asking its guest: what it has not written is lost.' : 'Stops {vm}.'),
        async ({ fleet, signal }, id) =>
          json(StopVmResponseSchema, await fleet.vms.stopVm({ vm: id, force }, { signal })),
      ),
  }),
  changeTool({
    name: 'restart_vm',
    description: 'Restarts a VM.',
    input: vmInput,
    preview: (call, { vm }) =>
      onVm(
        call,
        vm,
        () => 'Restarts {vm}.',
        async ({ fleet, signal }, id) =>
          json(RestartVmResponseSchema, await fleet.vms.restartVm({ vm: id }, { signal })),
      ),
  }),
  changeTool({
    name: 'set_vm',
    description: 'Changes sizes or labels of a VM.',
    input: { ...vmInput, ...sizes, labels },
    preview: (call, { vm, vcpus, mem_mb, disk_gb, labels: set }) =>
      onVm(
        call,
        vm,
        (old) => {
          const sized = (what: string, from: number, to: number | undefined, unit: string) =>
            to === undefined || to === from ? [] : [`${what} from ${from} to ${to}${unit}`]
          const changes = [
            ...sized('vCPUs', old.vcpus, vcpus, ''),
            ...sized('memory', old.memMb, mem_mb, ' MiB'),
            ...sized('disk', old.diskGb, disk_gb, ' GiB'),
            ...labelled(set),
          ]
          return changes.length === 0 ? 'Changes nothing of {vm}.' : `Changes of {vm}: ${changes.join(', ')}.`
        },
        async ({ fleet, signal }, id) => {
          const request = {
            vm: id,
            labels: set ?? {},
            ...(vcpus ? { vcpus } : {}),
            ...(mem_mb ? { memMb: mem_mb } : {}),
            ...(disk_gb ? { diskGb: disk_gb } : {}),
          }
          return json(UpdateVmResponseSchema, await fleet.vms.updateVm(request, { signal }))
        },
      ),
  }),
  changeTool({
    name: 'delete_vm',
    description: 'Moves a VM to quarantine: it stops, its disk stays until the grace ends, undelete_vm brings it back.',
    input: vmInput,
    destroys: true,
    preview: (call, { vm }) =>
      onVm(
        call,
        vm,
        (old) =>
          old.protected
            ? '{vm} is protected: deleting it will be refused.'
            : 'Stops {vm} and moves it to quarantine; undelete_vm brings it back until the grace ends.',
        async ({ fleet, signal }, id) => json(DeleteVmResponseSchema, await fleet.vms.deleteVm({ vm: id }, { signal })),
      ),
  }),
  changeTool({
    name: 'undelete_vm',
    description: 'Brings a deleted VM back from quarantine.',
    input: vmInput,
    preview: (call, { vm }) =>
      onVm(
        call,
        vm,
        () => 'Brings {vm} back from quarantine.',
        async ({ fleet, signal }, id) =>
          json(UndeleteVmResponseSchema, await fleet.vms.undeleteVm({ vm: id }, { signal })),
      ),
  }),
  changeTool({
    name: 'publish_port',
    description: 'Opens a port of a guest on its host.',
    input: {
      ...vmInput,
      guest_port: z.number().int().min(1).max(65535),
      host_port: z.number().int().min(0).max(65535).default(0).describe('0 = one of the reserved range.'),
      protocol: z.enum(['tcp', 'udp']).default('tcp'),
      scope: z.enum(['lan', 'loopback']).default('loopback'),
    },
    preview: (call, { vm, guest_port, host_port, protocol, scope }) =>
      onVm(
        call,
        vm,
        () => {
          const whom = scope === 'lan' ? 'everyone who reaches the host' : 'programs on the host'
          return `Opens ${protocol} ${guest_port} of {vm} to ${whom}, at port ${host_port || 'of the reserved range'}.`
        },
        async ({ fleet, signal }, id) => {
          const request = { vm: id, guestPort: guest_port, hostPort: host_port, protocol, scope, ifAbsent: true }
          return json(PublishPortResponseSchema, await fleet.ports.publishPort(request, { signal }))
        },
      ),
  }),
]
