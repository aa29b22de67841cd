import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { CreateJoinBlobResponseSchema, DrainHostResponseSchema } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { check } from '../../ipc/rules.ts'
import type { CommandContext, Runner } from './context.ts'
import { followTask } from './follow-task.ts'
import { answerHost, answerThis } from './host-answer.ts'
import { forgetCommand } from './host-forget-command.ts'
import { keyValue, reference, seconds, several } from './options.ts'
import { invalid } from './outcome.ts'

/** Sending, the host's own looks, its 60 s, and as long again to go back. */
const UPGRADE_MS = 45 * 60_000

/** Rename, label, drain, upgrade, join-blob, revoke and forget. */
export function hostLifeCommands(host: Command, run: Runner): void {
  run(
    host.command('rename <name> <new>').description('give a host another name'),
    async (context, name: string, to: string) => {
      await update(context, name, { name: to, labels: {}, removeLabels: [] })
    },
  )
  run(
    host
      .command('label <name> [key=value...]')
      .description('set labels of a host; those not named stay')
      .option('--remove-label <key>', 'may be given several times', several),
    label,
  )
  run(
    host
      .command('drain <name>')
      .description('no new VMs on a host from now on; those it has run on')
      .option('--stop', 'stop its VMs too, but for protected ones; they keep their disks')
      .option('--undo', 'let it take VMs again'),
    drain,
  )
  run(
    host
      .command('upgrade <name>')
      .description(
        "put this app's agent on a host; VMs run on, and the host goes back when the new one does not come up",
      ),
    upgrade,
  )
  run(
    host
      .command('join-blob')
      .description('print the one line that lets one host join, for "eitri-agent join" there')
      .option('--expires <time>', 'how long it is good for, 1m to 24h (15m)', seconds),
    joinBlob,
  )
  run(
    host
      .command('revoke <name>')
      .description('end the credential of a host: it is not heard any more until it joins, or is added, again'),
    async (context, name: string) => {
      context.deadline()
      const ref = reference('host', name)
      await (await context.fleet()).hosts.revokeHost({ host: ref }, { signal: context.signal })
      await answerHost(context, ref)
    },
  )
  forgetCommand(host, run)
}

async function update(
  context: CommandContext,
  name: string,
  change: { name: string; labels: Record<string, string>; removeLabels: string[] },
): Promise<void> {
  context.deadline()
  const request = check('updateHost', { host: reference('host', name), ...change })
  const { host } = await (await context.fleet()).hosts.updateHost(request, { signal: context.signal })
  if (host) await answerThis(context, host)
}

async function label(
  context: CommandContext,
  name: string,
  pairs: string[],
  { removeLabel = [] }: { removeLabel?: string[] },
): Promise<void> {
  const labels = pairs.reduce<Record<string, string>>((all, pair) => keyValue(pair, all), {})
  if (pairs.length === 0 && removeLabel.length === 0)
    throw invalid('label', '', 'give KEY=VALUE, or --remove-label KEY')
  await update(context, name, { name: '', labels, removeLabels: removeLabel })
}

async function drain(
  context: CommandContext,
  name: string,
  { stop = false, undo = false }: { stop?: boolean; undo?: boolean },
): Promise<void> {
  context.deadline()
  if (stop && undo) throw invalid('host drain', '', 'give --stop or --undo, not both')
  const request = { host: reference('host', name), drain: !undo, stopVms: stop }
  const answer = await (await context.fleet()).hosts.drainHost(request, { signal: context.signal })
  const list = (what: string, names: string[]) => (names.length === 0 ? '' : ` ${what}: ${names.join(', ')}.`)
  const left = list('Running on', answer.leftRunning)
  await context.answer(DrainHostResponseSchema, answer, () =>
    undo ? `${name} takes VMs again.\n` : `${name} takes no new VMs.${list('Being stopped', answer.stopping)}${left}\n`,
  )
}

async function upgrade(context: CommandContext, name: string): Promise<void> {
  context.deadline(UPGRADE_MS)
  const ref = reference('host', name)
  const fleet = await context.fleet()
  const { task } = await fleet.hosts.upgradeHost({ host: ref }, { signal: context.signal })
  if (task) await followTask(context, fleet, task)
  else context.note(`${name} has this app's agent already.`)
  await answerHost(context, ref)
}

async function joinBlob(context: CommandContext, { expires = 0 }: { expires?: number }): Promise<void> {
  context.deadline()
  const { expiresS } = expires === 0 ? { expiresS: 0 } : check('createJoinBlob', { expiresS: expires })
  const answer = await (await context.fleet()).hosts.createJoinBlob({ expiresS }, { signal: context.signal })
  if (!context.json) {
    const until = answer.expiresAt ? timestampDate(answer.expiresAt).toISOString() : ''
    context.note(`Good for one host, until ${until}. It is a secret. On the host, as root: eitri-agent join -`)
    context.note('Then here: eitri host add NAME --ssh HOST --joined')
  }
  await context.answer(CreateJoinBlobResponseSchema, answer, () => `${answer.blob}\n`)
}
