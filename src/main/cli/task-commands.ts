import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { faultFromMessage } from '../../ipc/fault-wire.ts'
import { ListTasksResponseSchema, type Task, TaskSchema } from '../../ipc/gen/eitri/fleet/v1/task_pb.js'
import type { Runner } from './context.ts'
import { reasonLine } from './outcome.ts'
import { sheet, table } from './table.ts'

export function taskCommands(root: Command, run: Runner): void {
  const task = root.command('task').description('what is being done')
  run(task.command('list').description('all tasks'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).tasks.listTasks({}, { signal: context.signal })
    await context.answer(ListTasksResponseSchema, answer, () =>
      table(
        ['ID', 'KIND', 'SUBJECT', 'STATE', 'STEP', 'STARTED'],
        answer.tasks.map((t) => [
          t.id,
          t.kind,
          t.subject,
          t.state,
          t.steps.findLast((s) => s.state !== 'waiting')?.name ?? '',
          t.createdAt ? timestampDate(t.createdAt).toISOString() : '',
        ]),
      ),
    )
  })
  run(task.command('show <id>').description('one task'), async (context, id: string) => {
    context.deadline()
    const answer = await (await context.fleet()).tasks.getTask({ id }, { signal: context.signal })
    if (answer.task) await context.answer(TaskSchema, answer.task, () => taskSheet(answer.task!))
  })
  run(task.command('cancel <id>').description('undo what it did so far'), async (context, id: string) => {
    context.deadline()
    const answer = await (await context.fleet()).tasks.cancelTask({ id }, { signal: context.signal })
    if (answer.task) await context.answer(TaskSchema, answer.task, () => taskSheet(answer.task!))
  })
}

const taskSheet = (t: Task): string =>
  sheet([
    ['id', t.id],
    ['kind', t.kind],
    ['subject', t.subject],
    ['state', t.state],
    ...t.steps.map((s): [string, string] => [s.name, [s.state, s.detail].filter(Boolean).join(': ')]),
    ['reason', t.fault ? reasonLine(faultFromMessage(t.fault)) : ''],
  ])
