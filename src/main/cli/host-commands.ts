import type { Command } from 'commander'
import { ListHostsResponseSchema, RemoveHostResponseSchema } from '../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { check } from '../../ipc/rules.ts'
import type { CommandContext, Runner } from './context.ts'
import { followTask } from './follow-task.ts'
import { answerHost, answerThis } from './host-answer.ts'
import { doctorCommand } from './host-doctor-command.ts'
import { hostLifeCommands } from './host-life-commands.ts'
import { KEEP_HELP, signInCommand } from './host-sign-in-command.ts'
import { takeOverCommand } from './host-takeover-command.ts'
import { reference, sshTarget } from './options.ts'
import { invalid } from './outcome.ts'
import { stdinLines } from './prompts.ts'
import { table } from './table.ts'

const ONBOARDING_MS = 30 * 60_000

interface AddOptions {
  local?: boolean
  ssh?: string
  identity?: string
  jump?: string
  joined?: boolean
  acceptHostKey?: string
  sudo?: boolean
  installPackages?: boolean
  takeOver?: boolean
  passwordStdin?: boolean
  keep?: string
  ifAbsent?: boolean
}

export function hostCommands(root: Command, run: Runner): void {
  const host = root.command('host').description('machines that run VMs')
  run(
    host
      .command('add <name>')
      .description('add this computer or a machine reached over SSH')
      .option('--local', 'this computer')
      .option('--ssh <[user@]host[:port]>', 'a machine reached over SSH')
      .option('--identity <file>', 'private key to sign in with')
      .option('--jump <[user@]host[:port],…>', 'hosts to go through, as ssh -J has them; none = straight on')
      .option('--joined', 'it joined by a blob of "host join-blob": reach it with this app\'s own key')
      .option('--accept-host-key <SHA256:…>', 'trust this host key')
      .option('--sudo', 'install a root agent by sudo')
      .option('--install-packages', 'install what the host lacks without asking')
      .option('--take-over', 'move a host of another control plane here')
      .option('--password-stdin', 'standard input: SSH password or passphrase, then the sudo password')
      .option('--keep <memory|keychain>', KEEP_HELP)
      .option('--if-absent', 'be content when a host of this name is there'),
    addHost,
  )
  run(host.command('list').description('all hosts'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).hosts.listHosts({}, { signal: context.signal })
    await context.answer(ListHostsResponseSchema, answer, () =>
      table(
        ['NAME', 'LINK', 'ADDRESS', 'AGENT', 'VMS', 'ACCELERATION'],
        answer.hosts.map((h) => [h.name, h.link, h.address || h.kind, h.agentVersion, String(h.vms), h.acceleration]),
      ),
    )
  })
  run(host.command('show <name>').description('one host'), async (context, name: string) => {
    context.deadline()
    await answerHost(context, reference('host', name))
  })
  run(
    host
      .command('accept-key <name> <SHA256:…>')
      .description('trust the changed host key a host answers with, once compared on the host, and dial it'),
    acceptKey,
  )
  takeOverCommand(host, run)
  signInCommand(host, run)
  hostLifeCommands(host, run)
  doctorCommand(host, run)
  run(
    host
      .command('remove <name>')
      .description('take a host out of the fleet')
      .option('--force', 'although VMs are left there or it does not answer; they keep running')
      .option('--uninstall', 'stop and remove the agent too'),
    removeHost,
  )
}

async function addHost(context: CommandContext, name: string, options: AddOptions): Promise<void> {
  context.deadline(ONBOARDING_MS)
  check('addHost', { name })
  if ((options.local === true) === (options.ssh !== undefined))
    throw invalid('host add', '', 'give either --local or --ssh [USER@]HOST[:PORT]')
  const way =
    options.ssh === undefined
      ? { case: 'local' as const, value: { takeOver: options.takeOver ?? false } }
      : await sshWay(context, options.ssh, options)
  const fleet = await context.fleet()
  const { task, host } = await fleet.hosts.addHost(
    { name, way, ifAbsent: options.ifAbsent ?? false },
    { signal: context.signal },
  )
  if (task) await answerHost(context, (await followTask(context, fleet, task)).resultId, { created: true })
  else if (host) await answerThis(context, host, { created: false })
}

async function sshWay(context: CommandContext, target: string, options: AddOptions) {
  const [password = '', sudoPassword = ''] = options.passwordStdin ? await stdinLines(context.io, 2) : []
  const { host, user, port } = sshTarget(target)
  const way = {
    host,
    user,
    ...(port === undefined ? {} : { port }),
    identityFile: options.identity ?? '',
    jump: options.jump ?? '',
    acceptHostKey: options.acceptHostKey ?? '',
    password,
    passphrase: password,
    sudoPassword,
  }
  check('sshWay', way)
  const value = {
    ...way,
    joined: options.joined ?? false,
    useSudo: options.sudo ?? false,
    takeOver: options.takeOver ?? false,
    installPackages: options.installPackages ?? false,
    keep: options.keep ?? '',
  }
  return { case: 'ssh' as const, value }
}

async function acceptKey(context: CommandContext, name: string, fingerprint: string): Promise<void> {
  context.deadline()
  const request = check('acceptHostKey', { host: reference('host', name), fingerprint })
  await (await context.fleet()).hosts.acceptHostKey(request, { signal: context.signal })
  await answerHost(context, request.host)
}

async function removeHost(
  context: CommandContext,
  name: string,
  options: { force?: boolean; uninstall?: boolean },
): Promise<void> {
  context.deadline(ONBOARDING_MS)
  const fleet = await context.fleet()
  const answer = await fleet.hosts.removeHost(
    { host: reference('host', name), force: options.force ?? false, uninstall: options.uninstall ?? false },
    { signal: context.signal },
  )
  if (answer.task) answer.task = await followTask(context, fleet, answer.task)
  const left = answer.leftBehind.join(', ')
  await context.answer(RemoveHostResponseSchema, answer, () =>
    left ? `Host ${name} removed. Still there: ${left}.\n` : `Host ${name} removed.\n`,
  )
}
