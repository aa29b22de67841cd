import { Command, CommanderError, Option } from 'commander'
import { printable } from '../../ipc/fault-text.ts'
import { appVersion } from '../control/node-ports.ts'
import { auditCommand } from './audit-command.ts'
import { backupCommand } from './backup-command.ts'
import { caCommands } from './ca-commands.ts'
import { certCommands } from './cert-commands.ts'
import { clockCommands } from './clock-commands.ts'
import { cloudInitCommand } from './cloud-init-command.ts'
import { completionCommand } from './completion-command.ts'
import { connectCommand } from './connect-command.ts'
import { consoleCommand } from './console-command.ts'
import { type CliParts, CommandContext, type GlobalOptions, type Runner } from './context.ts'
import { hostCommands } from './host-commands.ts'
import { imageCommands } from './image-commands.ts'
import { mcpCommand } from './mcp-command.ts'
import { networkCommands } from './network-commands.ts'
import { duration, tenantName } from './options.ts'
import { EXIT, exitCodeOf, faultOf, inOptions, lostOutput, reasonLine } from './outcome.ts'
import { portCommands } from './port-commands.ts'
import { restoreCommand } from './restore-command.ts'
import { serveCommand } from './serve-command.ts'
import { withGuestCommand } from './ssh-argv.ts'
import { sshCommand } from './ssh-command.ts'
import { sshConfigCommand } from './ssh-config-command.ts'
import { storeCommand } from './store-command.ts'
import { supportCommand } from './support-command.ts'
import { taskCommands } from './task-commands.ts'
import { templateCommands } from './template-commands.ts'
import { tenantCommands } from './tenant-commands.ts'
import { vmCommands } from './vm-commands.ts'

const EXIT_CODES = `Exit codes: ${EXIT.done} done, ${EXIT.failed} failed (why is on standard error), ${EXIT.usage} wrong usage,
${EXIT.notPossible} not possible here, ${EXIT.timedOut} not done in time.`

/** Runs one command line; the exit code. Never throws. */
export async function runCli(argv: string[], parts: CliParts): Promise<number> {
  let code: number = EXIT.done
  // Whoever awaits a write hears of its failure; an event nobody listens to would end the process with a stack.
  for (const stream of [parts.io.stdout, parts.io.stderr]) stream.on('error', () => {})
  const run: Runner = (command, action) => {
    command.action(async (...args: unknown[]) => {
      const context = new CommandContext(parts, command.optsWithGlobals<GlobalOptions>())
      const release = parts.io.onInterrupt(() => context.cancel())
      try {
        await action(context, ...(args.slice(0, -1) as never))
        code = context.exitCode ?? code
      } catch (error) {
        const lost = lostOutput(error)
        if (lost !== undefined) {
          if (lost !== '') parts.io.stderr.write(`${lost}\n`)
          code = lost === '' ? EXIT.done : EXIT.failed
          return
        }
        const fault = faultOf(error, context.signal, () => context.socketPath)
        const options = command.options.map(({ long }) => long ?? '')
        parts.io.stderr.write(`${reasonLine(inOptions(fault, options))}\n`)
        code = exitCodeOf(fault.code)
      } finally {
        release()
        await context.end()
      }
    })
  }
  try {
    const root = program(run, parts)
    await root.parseAsync(withGuestCommand(argv, optionsOf(root, 'ssh')), { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return EXIT.done
    parts.io.stderr.write(`${usageLine(error)}\n`)
    return EXIT.usage
  }
}

function program(run: Runner, { io }: CliParts): Command {
  const root = new Command('eitri')
    .description('Virtual machines on this computer and on hosts over SSH.')
    .option('--json', 'answer with one JSON document')
    .option('--data-dir <dir>', 'data folder of the control plane')
    .addOption(
      new Option('--tenant <name>', 'act in this tenant (default "default")').env('EITRI_TENANT').argParser(tenantName),
    )
    .option('--timeout <time>', 'give up waiting after this long, e.g. 120s', duration)
    .option('--embedded', 'start the control plane for this one command when none runs')
    .addHelpText('after', `\n${EXIT_CODES}`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      // Commander's own errors are said once, by usageLine; help for a missing subcommand comes this way too.
      writeErr: (text) => {
        if (!text.startsWith('error:')) io.stderr.write(text)
      },
    })
    .showSuggestionAfterError(false)
  serveCommand(root, run)
  hostCommands(root, run)
  vmCommands(root, run)
  cloudInitCommand(root, run)
  consoleCommand(root, run)
  sshCommand(root, run)
  sshConfigCommand(root, run)
  connectCommand(root, run)
  imageCommands(root, run)
  templateCommands(root, run)
  clockCommands(root, run)
  portCommands(root, run)
  networkCommands(root, run)
  caCommands(root, run)
  certCommands(root, run)
  taskCommands(root, run)
  auditCommand(root, run)
  backupCommand(root, run)
  restoreCommand(root, run)
  storeCommand(root, run)
  supportCommand(root, run)
  tenantCommands(root, run)
  mcpCommand(root, run)
  completionCommand(root, run)
  run(root.command('version').description('the version of this program'), async (context) => {
    if (context.json) await context.document({ version: appVersion() })
    else await context.say(`${appVersion()}\n`)
  })
  return root
}

/** Those a command takes; true = with a value. */
function optionsOf(root: Command, name: string): Map<string, boolean> {
  const own = root.commands.find((command) => command.name() === name)?.options ?? []
  const taken = [...root.options, ...own].map(({ long, required }) => [long ?? '', required] as const)
  return new Map([...taken, ['--help', false], ['-h', false]])
}

function usageLine(error: CommanderError): string {
  if (error.code === 'commander.help') return 'A command is missing. Nothing was changed. See "eitri --help".'
  const what = printable(error.message.replace(/^error: /, ''))
  const hint =
    error.code === 'commander.unknownOption' && /'-[^-]/.test(what)
      ? ' A name cannot start with a hyphen: use lower-case letters, digits and hyphens.'
      : ''
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}${/[.!?]$/.test(what) ? '' : '.'}${hint} Nothing was changed. See "eitri --help".`
}
