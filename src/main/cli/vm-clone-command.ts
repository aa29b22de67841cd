import type { Command } from 'commander'
import { check } from '../../ipc/rules.ts'
import type { CommandContext, Runner } from './context.ts'
import { reference, wholeNumber } from './options.ts'
import { answerVm, noteHeld, waited } from './vm-answer.ts'
import { waitState } from './wait-vm.ts'

/** Whole disks are copied where blocks cannot be shared. */
const CLONE_MS = 4 * 3600_000

interface CloneOptions {
  vcpus?: number
  memMb?: number
  diskGb?: number
  power?: string
  ifAbsent?: boolean
  wait?: boolean | string
}

export function cloneCommand(vm: Command, run: Runner): void {
  run(
    vm
      .command('clone <name> [new]')
      .description('make a VM on the same host from the disk of a stopped one, with an identity of its own')
      .option('--vcpus <n>', 'virtual processors; else as the source', wholeNumber)
      .option('--mem-mb <n>', 'memory, MiB; else as the source', wholeNumber)
      .option('--disk-gb <n>', 'disk, GiB, at least that of the source', wholeNumber)
      .option('--power <power>', 'running or stopped')
      .option('--if-absent', 'be content when a VM of the new name is there')
      .option('--wait [state]', 'until it is so: ready, or stopped with --power stopped'),
    cloneVm,
  )
}

async function cloneVm(context: CommandContext, source: string, name: string | undefined, options: CloneOptions) {
  context.deadline(options.wait ? CLONE_MS : undefined)
  if (typeof options.wait === 'string') waitState(options.wait)
  const { vcpus = 0, memMb = 0, diskGb = 0, power = 'running', ifAbsent = false } = options
  const request = { vm: reference('vm', source), name: name ?? '', vcpus, memMb, diskGb, power }
  check('cloneVm', request)
  const fleet = await context.fleet()
  const { vm, created } = await fleet.vms.cloneVm({ ...request, ifAbsent }, { signal: context.signal })
  const otherwise = power === 'stopped' ? 'stopped' : 'ready'
  await noteHeld(context, fleet, vm, options)
  await answerVm(context, await waited(context, fleet, vm, options, otherwise), name ?? source, { created })
}
