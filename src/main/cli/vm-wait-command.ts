import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import type { Vm } from '../../ipc/gen/eitri/fleet/v1/vm_pb.js'
import { KiB } from '../../ipc/units.ts'
import { ConsoleClient } from './console-client.ts'
import type { CommandContext, Runner } from './context.ts'
import { offset, reference } from './options.ts'
import { invalid } from './outcome.ts'
import { answerVm } from './vm-answer.ts'
import { waitForState, waitForVm, waitState } from './wait-vm.ts'

const WAIT_MS = 120_000
const MAX_TEXT = 4 * KiB

interface WaitOptions {
  state?: string
  console?: string
  from?: bigint
  address?: boolean
}

export function waitCommand(vm: Command, run: Runner): void {
  run(
    vm
      .command('wait <name>')
      .description('until the VM is in a state, its console says something or it has an address')
      .option('--state <state>', 'creating, ready, stopped, suspended, failed, deleting or gone')
      .option('--console <text>', 'until the console has said this')
      .option('--from <offset>', 'with --console: look from this byte on', offset)
      .option('--address', 'until it has an address'),
    waitVm,
  )
}

async function waitVm(context: CommandContext, name: string, options: WaitOptions): Promise<void> {
  context.deadline(WAIT_MS)
  const ref = reference('vm', name)
  const state = options.state === undefined ? undefined : waitState(options.state)
  const text = options.console
  if (state === undefined && text === undefined && !options.address)
    throw invalid('wait', '', 'say what for: --state, --console or --address')
  if (text !== undefined && (text === '' || text.length > MAX_TEXT))
    throw invalid('console', '', `use 1 to ${MAX_TEXT} characters`)
  const fleet = await context.fleet()
  const { signal } = context
  let vm = state === undefined ? undefined : await waitForState(fleet, ref, state, signal)
  if (text !== undefined) await waitForText(context, vm?.id ?? ref, text, options.from ?? 0n)
  const met = (v: Vm | undefined) => v !== undefined && addressOf(v) !== ''
  if (options.address) vm = await waitForVm(fleet, vm?.id ?? ref, { met }, signal)
  else if (text !== undefined) vm = (await fleet.vms.getVm({ vm: vm?.id ?? ref }, { signal })).vm
  if (options.address && vm && !context.json) await context.say(`${addressOf(vm)}\n`)
  else await answerVm(context, vm, ref)
}

const addressOf = (vm: { ip: string; networkIp: string }) => vm.networkIp || vm.ip

/** Resolves when the text is in the console's record at or after the offset, however it was cut on the way. */
async function waitForText(
  { socketPath, askAs, signal }: CommandContext,
  vm: string,
  text: string,
  from: bigint,
): Promise<void> {
  const wanted = Buffer.from(text)
  let rest = Buffer.alloc(0)
  let found = false
  const viewer = new ConsoleClient({
    socketPath,
    askAs,
    vm,
    from,
    readOnly: true,
    signal,
    async data(bytes) {
      const all = Buffer.concat([rest, bytes])
      found ||= all.includes(wanted)
      rest = all.subarray(Math.max(0, all.length - wanted.length + 1))
      if (found) viewer.close()
    },
    skipped() {
      rest = Buffer.alloc(0)
    },
  })
  await viewer.done
  if (!found) throw new Fault('console/unavailable', 'transient', { detail: vm })
}
