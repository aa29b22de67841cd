import type { Command } from 'commander'
import { CLOCK_POLICIES } from '../../ipc/clock-policy.ts'
import { check } from '../../ipc/rules.ts'
import type { CommandContext, Runner } from './context.ts'
import { reference } from './options.ts'
import { invalid } from './outcome.ts'
import { answerVm } from './vm-answer.ts'

interface SetOptions {
  clockPolicy?: string
}

export function setCommand(vm: Command, run: Runner): void {
  run(
    vm
      .command('set <name>')
      .description('change what it should be')
      .option('--clock-policy <policy>', `who keeps its clock: ${CLOCK_POLICIES.join(', ')}`),
    setVm,
  )
}

async function setVm(context: CommandContext, name: string, { clockPolicy }: SetOptions): Promise<void> {
  context.deadline()
  const vm = reference('vm', name)
  if (clockPolicy === undefined) throw invalid('vm set', '', 'say what to change, such as --clock-policy auto')
  if (clockPolicy === '') throw invalid('clock_policy', '', `one of ${CLOCK_POLICIES.join(', ')}`)
  check('updateVm', { vm, clockPolicy })
  const answer = await (await context.fleet()).vms.updateVm({ vm, clockPolicy }, { signal: context.signal })
  await answerVm(context, answer.vm, vm)
  if (answer.notReached !== '') context.note(answer.notReached)
}
