import type { Command } from 'commander'
import { CLOCK_POLICIES } from '../../ipc/clock-policy.ts'
import { check } from '../../ipc/rules.ts'
import type { CommandContext, Runner } from './context.ts'
import { keyValue, reference, seconds, several, wholeNumber } from './options.ts'
import { invalid } from './outcome.ts'
import { answerVm, noteHeld } from './vm-answer.ts'

interface SetOptions {
  vcpus?: number
  memMb?: number
  diskGb?: number
  label?: Record<string, string>
  removeLabel?: string[]
  protect?: boolean
  unprotect?: boolean
  autostart?: boolean
  autostartDelay?: number
  autostartOrder?: number
  rename?: string
  clockPolicy?: string
}

export function setCommand(vm: Command, run: Runner): void {
  run(
    vm
      .command('set <name>')
      .description('change what it should be; what the running guest gets only at its next start is said')
      .option('--vcpus <n>', 'virtual processors', wholeNumber)
      .option('--mem-mb <n>', 'memory, MiB', wholeNumber)
      .option('--disk-gb <n>', 'disk, GiB; it only grows', wholeNumber)
      .option('--label <key=value>', 'may be given several times', keyValue)
      .option('--remove-label <key>', 'may be given several times', several)
      .option('--protect', 'refuse to delete it')
      .option('--unprotect', 'let it be deleted')
      .option('--autostart', 'start it with its host')
      .option('--no-autostart', 'leave it off when its host starts')
      .option('--autostart-delay <time>', 'so long after its host booted', seconds)
      .option('--autostart-order <n>', 'lower ones start first', wholeNumber)
      .option('--rename <name>', 'give it another name')
      .option('--clock-policy <policy>', `who keeps its clock: ${CLOCK_POLICIES.join(', ')}`),
    setVm,
  )
}

async function setVm(context: CommandContext, name: string, options: SetOptions): Promise<void> {
  context.deadline()
  const vm = reference('vm', name)
  if (Object.keys(options).length === 0) throw invalid('vm set', '', 'say what to change, such as --mem-mb 2048')
  if (options.protect && options.unprotect) throw invalid('protect', '', 'say --protect or --unprotect, not both')
  if (options.clockPolicy === '') throw invalid('clock_policy', '', `one of ${CLOCK_POLICIES.join(', ')}`)
  for (const [field, size] of [
    ['vcpus', options.vcpus],
    ['mem_mb', options.memMb],
    ['disk_gb', options.diskGb],
  ] as const)
    if (size === 0) throw invalid(field, '0', `${field} must be at least 1`)
  const { vcpus, memMb, diskGb, clockPolicy, autostart, autostartDelay, autostartOrder } = options
  const guarded = options.protect ? true : options.unprotect ? false : undefined
  const request = given({
    ...{ vcpus, memMb, diskGb, clockPolicy, autostart, autostartOrder, autostartDelayS: autostartDelay },
    ...{ name: options.rename, protected: guarded, labels: options.label, removeLabels: options.removeLabel },
  })
  check('updateVm', { vm, ...request })
  const fleet = await context.fleet()
  const answer = await fleet.vms.updateVm({ vm, ...request }, { signal: context.signal })
  await noteHeld(context, fleet, answer.vm)
  const { notReached, needsRestart } = answer
  await answerVm(context, answer.vm, vm, { needs_restart: needsRestart, not_reached: notReached })
  if (needsRestart.length > 0 && !context.json)
    context.note(
      `At its next start the guest gets: ${needsRestart.join(', ')}. See "eitri vm restart ${answer.vm?.name ?? vm}".`,
    )
  if (notReached !== '') context.note(notReached)
}

/** Only what was said. */
const given = <T extends object>(all: { [K in keyof T]: T[K] | undefined }): Partial<T> =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Partial<T>
