import { resolve } from 'node:path'
import type { Command } from 'commander'
import { silentLog } from '../../ipc/base/log.ts'
import { faultLine } from '../../ipc/fault-text.ts'
import { asFault } from '../../ipc/faults.ts'
import { BUILD_INFO } from '../build-info.ts'
import { resumeUpgradeOf } from '../upgrade/resume.ts'
import { thisHost } from './host-access.ts'
import { type InstallFlags, install } from './install.ts'
import { type JoinedHost, joinFleet } from './join.ts'
import { agentPlaces, currentLogin } from './places.ts'
import { commandOf, runningProgram } from './self.ts'
import { startDetached } from './start.ts'
import { type UninstallFlags, uninstall } from './uninstall.ts'

/** Several agents are here and none was named. */
const EXIT_CHOOSE = 2

interface Json {
  json?: boolean
}
interface Paths {
  stateDir?: string
  socket?: string
}

const STATE_DIR = ['--state-dir <dir>', 'where VMs, images and the identity are kept'] as const
const SOCKET = ['--socket <path>', 'unix socket it listens on'] as const
const JSON_FLAG = ['--json', 'one JSON document'] as const
const AS_USER = ['--user', "as root: only this login's own agent"] as const

/** Adds install, uninstall and start to the agent's command line. */
export function addInstallCommands(program: Command): void {
  program
    .command('install')
    .description('put this agent in place and have it started again after a reboot')
    .option('--start', '(re)start it now and wait until it answers')
    .option(...AS_USER)
    .option('--steer-user <login>', 'may steer a root agent; may be repeated', (login, all: string[] = []) => [
      ...all,
      login,
    ])
    .option(...STATE_DIR)
    .option(...SOCKET)
    .option(...JSON_FLAG)
    .action((flags: InstallFlags & Json) =>
      answer(flags, () => install({ ...absolute(flags), ...self() }), installText),
    )
  program
    .command('join <blob>')
    .description('let the control plane in that made this blob; "-" reads it from standard input')
    .option(...JSON_FLAG)
    .action((blob: string, flags: Json) =>
      answer(
        flags,
        async () => joinFleet(blob === '-' ? await lineOfStdin() : blob, { ...self(), now: Date.now }),
        joinText,
      ),
    )
  program
    .command('uninstall')
    .description('undo install; VMs and their data stay')
    .option('--purge', 'also remove identity, images and VM disks; refused while a VM runs')
    .option(...AS_USER)
    .option(...STATE_DIR)
    .option(...SOCKET)
    .option(...JSON_FLAG)
    .action((flags: UninstallFlags & Json) =>
      answer(flags, () => uninstall({ ...absolute(flags), host: thisHost() }), uninstallText),
    )
  program
    .command('start')
    .description('start the agent detached where nothing supervises it; no-op when it answers')
    .option(...STATE_DIR)
    .option(...SOCKET)
    .option(...JSON_FLAG)
    .action((flags: Paths & Json) =>
      answer(
        flags,
        () => start(absolute(flags)),
        ({ pid }) => `The agent runs, pid ${pid}.`,
      ),
    )
}

const self = () => ({ host: thisHost(), program: runningProgram(), ...BUILD_INFO })

async function start(paths: Paths): Promise<{ pid: number; socket: string }> {
  const { stateDir, socket } = agentPlaces(currentLogin(), paths)
  const program = runningProgram()
  // What dies when it serves cannot see to it itself.
  await resumeUpgradeOf({ stateDir, socketPath: socket, log: silentLog, program, args: [] })
  const { pid } = await startDetached({ command: commandOf(program), stateDir, socket })
  return { pid, socket }
}

/** The JSON document or the text on stdout; a failure as one sentence on stderr, exit code 1. */
export async function answer<T>(
  { json = false }: Json,
  work: () => Promise<T>,
  text: (value: T) => string,
  document: (value: T) => unknown = (value) => value,
): Promise<void> {
  try {
    const value = await work()
    process.stdout.write(`${json ? JSON.stringify(document(value)) : text(value)}\n`)
  } catch (error) {
    const fault = asFault(error)
    const { host: _, ...params } = fault.params
    const message = params['message'] ?? faultLine(fault.code, params)
    process.stderr.write(`eitri-agent: ${faultLine(fault.code, { host: 'this host', ...params })}\n`)
    if (json) process.stdout.write(`${JSON.stringify({ error: { code: fault.code, message, params } })}\n`)
    process.exitCode = fault.code === 'agent/several' ? EXIT_CHOOSE : 1
  }
}

const absolute = <T extends Paths>(flags: T): T => ({
  ...flags,
  ...(flags.stateDir === undefined ? {} : { stateDir: resolve(flags.stateDir) }),
  ...(flags.socket === undefined ? {} : { socket: resolve(flags.socket) }),
})

const installText = (found: Awaited<ReturnType<typeof install>>): string =>
  [
    ...found.did.map((what) => `- ${what}`),
    ...found.warnings.map((warning) => `! ${warning}`),
    `Agent ${found.version} at ${found.executable}, socket ${found.socket}, started again by ${found.started_by}.`,
  ].join('\n')

const joinText = ({ did, warnings, fleet_id, user, expires_at }: JoinedHost): string =>
  [
    ...did.map((what) => `- ${what}`),
    ...warnings.map((warning) => `! ${warning}`),
    `Joined ${fleet_id}. Add it there before ${expires_at}: eitri host add NAME --ssh ${user}@THIS-HOST --joined`,
  ].join('\n')

const MAX_BLOB_BYTES = 4_096

/** What is longer than any blob is cut, and then is none. */
async function lineOfStdin(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_BLOB_BYTES) break
  }
  return text
}

const uninstallText = ({ removed, left }: Awaited<ReturnType<typeof uninstall>>): string =>
  [...removed.map((what) => `- removed ${what}`), ...left.map((what) => `! left ${what}`)].join('\n') ||
  'Nothing was here.'
