import type { Command } from 'commander'
import { ListVmsResponseSchema, type Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import type { FleetClient } from '../fleet-client.ts'
import type { CommandContext, Runner } from './context.ts'
import { HostWord } from './host-word.ts'
import { reference } from './options.ts'
import { agreed } from './prompts.ts'
import { table } from './table.ts'
import { answerVm, noteHeld, remark, sizeWord, stateWord, type Waiting, waited } from './vm-answer.ts'
import { cloneCommand } from './vm-clone-command.ts'
import { createCommand } from './vm-create-command.ts'
import { importCommand } from './vm-import-command.ts'
import { setCommand } from './vm-set-command.ts'
import { waitCommand } from './vm-wait-command.ts'
import { waitForState, waitForVm } from './wait-vm.ts'

const ACT_MS = 10 * 60_000

export function vmCommands(root: Command, run: Runner): void {
  const vm = root.command('vm').description('virtual machines')
  createCommand(vm, run)
  waitCommand(vm, run)
  setCommand(vm, run)
  cloneCommand(vm, run)
  importCommand(vm, run)
  run(vm.command('list').description('all VMs, deleted ones in quarantine too'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).vms.listVms({}, { signal: context.signal })
    await context.answer(ListVmsResponseSchema, answer, () =>
      table(
        ['NAME', 'STATE', 'HOST', 'VCPUS', 'MEM MB', 'DISK GB', 'IMAGE', 'DETAIL'],
        answer.vms.map((v) => [
          v.name || v.id,
          stateWord(v),
          v.hostName,
          sizeWord(v, v.vcpus),
          sizeWord(v, v.memMb),
          sizeWord(v, v.diskGb),
          v.imageName,
          remark(v),
        ]),
      ),
    )
  })
  run(vm.command('show <name>').description('one VM'), async (context, name: string) => {
    context.deadline()
    const answer = await (await context.fleet()).vms.getVm({ vm: reference('vm', name) }, { signal: context.signal })
    await answerVm(context, answer.vm)
  })
  acting(vm, run, 'start <name>', 'let it run', (fleet, vm, o) => fleet.vms.startVm({ vm }, o), 'ready')
  const stop = vm.command('stop <name>').description('shut it down').option('--force', 'do not wait for the guest')
  withWait(stop, run, async (context, fleet, ref, options: Waiting & { force?: boolean }) => {
    const answer = await fleet.vms.stopVm({ vm: ref, force: options.force ?? false }, { signal: context.signal })
    return waited(context, fleet, answer.vm, options, 'stopped')
  })
  restartCommand(vm, run)
  withWait(
    vm.command('delete <name>').description('move it to quarantine'),
    run,
    async (context, fleet, ref, options) => {
      const { vm } = await fleet.vms.deleteVm({ vm: ref }, { signal: context.signal })
      if (!vm || !options.wait || options.wait === true) {
        const confirmed = (v: Vm | undefined) => v === undefined || v.quarantineEndsAt !== undefined
        if (!vm || !options.wait) return vm
        return waitForVm(fleet, vm.id, { met: confirmed, deleted: true }, context.signal, new HostWord(true))
      }
      return waited(context, fleet, vm, options, 'gone')
    },
  )
  const undelete = vm.command('undelete <name>').description('bring it back').option('--as <name>', 'under this name')
  withWait(undelete, run, async (context, fleet, ref, options: Waiting & { as?: string }) => {
    const request = { vm: ref, newName: options.as === undefined ? '' : reference('vm', options.as) }
    const answer = await fleet.vms.undeleteVm(request, { signal: context.signal })
    return waited(context, fleet, answer.vm, options, answer.vm?.desiredPower === 'stopped' ? 'stopped' : 'ready')
  })
  purgeCommand(vm, run)
  adoptCommand(vm, run)
}

type Act = (context: CommandContext, fleet: FleetClient, ref: string, options: any) => Promise<Vm | undefined>

function withWait(command: Command, run: Runner, act: Act): void {
  command.option('--wait [state]', 'until it is so')
  run(command, async (context, name: string, options: Waiting) => {
    context.deadline(options.wait ? ACT_MS : undefined)
    const ref = reference('vm', name)
    const fleet = await context.fleet()
    const vm = await act(context, fleet, ref, options)
    await noteHeld(context, fleet, vm, options)
    await answerVm(context, vm, ref)
  })
}

function acting(
  parent: Command,
  run: Runner,
  usage: string,
  description: string,
  call: (fleet: FleetClient, vm: string, options: { signal: AbortSignal }) => Promise<{ vm?: Vm | undefined }>,
  state: 'ready',
): void {
  withWait(parent.command(usage).description(description), run, async (context, fleet, ref, options: Waiting) => {
    const { vm } = await call(fleet, ref, { signal: context.signal })
    return waited(context, fleet, vm, options, state)
  })
}

function restartCommand(parent: Command, run: Runner): void {
  withWait(
    parent.command('restart <name>').description('shut it down and let it run again'),
    run,
    async (context, fleet, ref, options: Waiting) => {
      const { signal } = context
      const before = (await fleet.vms.getVm({ vm: ref }, { signal })).vm?.startedAt
      const { vm } = await fleet.vms.restartVm({ vm: ref }, { signal })
      if (!vm || !options.wait) return vm
      const again = (v: Vm | undefined) =>
        v?.startedAt !== undefined &&
        (before === undefined || v.startedAt.seconds !== before.seconds || v.startedAt.nanos !== before.nanos)
      await waitForVm(fleet, vm.id, { met: again }, signal, new HostWord(true))
      return waited(context, fleet, vm, options, 'ready')
    },
  )
}

function purgeCommand(parent: Command, run: Runner): void {
  const purge = parent
    .command('purge <name>')
    .description('destroy a deleted VM and its disk')
    .option('--yes', 'do not ask')
  purge.option('--wait', 'until nothing is left of it')
  run(purge, async (context, name: string, options: { yes?: boolean; wait?: boolean }) => {
    context.deadline(options.wait ? ACT_MS : undefined)
    const ref = reference('vm', name)
    await agreed(context, `Destroy ${ref} and its disk for good?`, options.yes ?? false)
    const fleet = await context.fleet()
    const { vms } = await fleet.vms.listVms({}, { signal: context.signal })
    const found = vms.find((v) => v.id === ref || (v.name === ref && v.deletedAt))
    await fleet.vms.purgeVm({ vm: ref }, { signal: context.signal })
    await noteHeld(context, fleet, found, options)
    if (options.wait && found) await waitForState(fleet, found.id, 'gone', context.signal, true)
    if (context.json) await context.document({ id: found?.id ?? ref, purged: true })
    else await context.say(`VM ${name} purged.\n`)
  })
}

function adoptCommand(parent: Command, run: Runner): void {
  const adopt = parent
    .command('adopt <name>')
    .description('take a VM that its host keeps, and that is of no fleet, into this one as it is')
    .option('--as <name>', 'under this name')
  run(adopt, async (context, name: string, options: { as?: string }) => {
    context.deadline()
    const request = { vm: reference('vm', name), newName: options.as === undefined ? '' : reference('vm', options.as) }
    const fleet = await context.fleet()
    const { vm } = await fleet.vms.adoptVm(request, { signal: context.signal })
    await noteHeld(context, fleet, vm)
    await answerVm(context, vm, name)
  })
}
