import { resolve } from 'node:path'
import { stderr, stdin, stdout } from 'node:process'
import { Command } from 'commander'
import { lineLog } from '../ipc/base/log.ts'
import { faultLine } from '../ipc/fault-text.ts'
import { asFault } from '../ipc/faults.ts'
import { startAgent } from './agent.ts'
import { BUILD_INFO } from './build-info.ts'
import { addServeFlags, capsOf, type ServeFlags } from './flags.ts'
import { addHostCommands, type LookFlags, lookedText, SOCKET, STATE_DIR } from './host-commands.ts'
import { addInstallCommands, answer } from './install/commands.ts'
import { findAgent } from './install/find-agent.ts'
import { agentPlaces, currentLogin, socketAccess } from './install/places.ts'
import { runningProgram } from './install/self.ts'
import { requireBridges } from './network/host-bridges.ts'
import { armFailpoints } from './os/arm-failpoints.ts'
import { logOutput } from './os/log-output.ts'
import { keepHeapSmall } from './os/small-heap.ts'
import { agentLayout } from './records/layout.ts'
import { bridgeStdio } from './rpc/stdio-bridge.ts'
import { askStatus, statusJson, statusText } from './status/agent-status.ts'
import { addUpgradeCommands } from './upgrade/commands.ts'
import { resumeUpgradeOf } from './upgrade/resume.ts'

const EXIT_FAILED = 1
const EXIT_NOT_RUNNING = 3

armFailpoints(process.env)
const login = currentLogin()
const places = agentPlaces(login)

const program = new Command('eitri-agent').description('The agent of one Eitri host').helpCommand(false)

addServeFlags(program.command('serve'), process.platform, places)
  .description('run the agent until it is told to end; VMs outlive it')
  .action((flags: ServeFlags) => serve(flags))

program
  .command('version')
  .description('print the version')
  .option('--json', 'one JSON document')
  .action(({ json }: { json?: boolean }) => {
    const { version, digest } = BUILD_INFO
    process.stdout.write(json ? `${JSON.stringify({ version, build_digest: digest })}\n` : `${version}\n`)
  })

program
  .command('status')
  .description('ask the running agent')
  .option('--json', 'one JSON document')
  .option(...STATE_DIR)
  .option(...SOCKET)
  .action((flags: LookFlags) =>
    answer(
      flags,
      async () => {
        const { socket, looked } = await findAgent(flags)
        const status = await askStatus(socket)
        if (!status.running) process.exitCode = EXIT_NOT_RUNNING
        return { socket, looked, status }
      },
      ({ socket, looked, status }) => [statusText(socket, status), lookedText(looked)].filter(Boolean).join('\n'),
      ({ socket, status }) => statusJson(socket, status),
    ),
  )

program
  .command('rpc')
  .description('bridge stdin and stdout to the agent')
  .requiredOption('--stdio', 'the only way there is')
  .option('--socket <path>', 'unix socket it listens on; else the agent that is found here')
  .action(async ({ socket }: { socket?: string }) => {
    const socketPath = socket ?? (await findAgent({}).catch(fail)).socket
    process.exitCode = await bridgeStdio({ socketPath, stdin, stdout, stderr })
  })

addInstallCommands(program)
addHostCommands(program)
addUpgradeCommands(program)

async function serve(flags: ServeFlags): Promise<void> {
  keepHeapSmall()
  // What the agent and its hypervisors create is for their user alone unless a mode says otherwise.
  process.umask(0o077)
  const stateDir = resolve(flags.stateDir)
  const log = lineLog(logOutput(stderr.fd, agentLayout(stateDir).log))
  const started = { program: runningProgram(), args: process.argv.slice(2) }
  await resumeUpgradeOf({ stateDir, socketPath: resolve(flags.socket), log, ...started })
  requireBridges(flags.hostNetwork)
  const agent = await startAgent({
    stateDir,
    socketPath: resolve(flags.socket),
    ...socketAccess(login),
    backend: flags.backend,
    bridgeCidr: flags.bridgeCidr,
    guestNetwork: flags.guestNetwork,
    ...(flags.vfkit === '' ? {} : { vfkit: flags.vfkit }),
    hostNetworks: flags.hostNetwork,
    caps: capsOf(flags),
    started,
    log,
  })
  const end = () => void agent.close().then(() => process.exit(0), fail)
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}

function fail(error: unknown): never {
  const fault = asFault(error)
  process.stderr.write(`eitri-agent: ${faultLine(fault.code, fault.params)}\n`)
  process.exit(EXIT_FAILED)
}

void program.parseAsync().catch(fail)
