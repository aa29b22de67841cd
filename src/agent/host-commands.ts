import { join } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '../ipc/base/clock.ts'
import { silentLog } from '../ipc/base/log.ts'
import { noSerialPump } from './backends/backend.ts'
import { doctorJson, doctorText } from './doctor/doctor-text.ts'
import { exitCodeOf, type Finding, judge } from './doctor/judge.ts'
import { lookAtHost } from './doctor/look.ts'
import { probeAcceleration } from './facts/acceleration-probe.ts'
import type { AgentPlace } from './install/choose-agent.ts'
import { answer } from './install/commands.ts'
import { findAgent } from './install/find-agent.ts'
import { peekNics } from './network/open-networks.ts'
import { detach, run } from './os/exec.ts'
import { hostProcesses, hypervisorFacts, makeBackend } from './platform.ts'
import { agentLayout } from './records/layout.ts'
import { fileRecords } from './records/vm-records.ts'
import { procArgv, type ShowDeps, showCommand } from './show-command/show-command.ts'
import { showJson, showText } from './show-command/show-text.ts'
import { askStatus } from './status/agent-status.ts'

/** Longest a command may look for, ms; the probe of what a guest runs on is most of it. */
const LOOK_MS = 60_000

export interface LookFlags {
  json?: boolean
  stateDir?: string
  socket?: string
}

export const STATE_DIR = ['--state-dir <dir>', 'of the agent; needed only where there are several'] as const
export const SOCKET = ['--socket <path>', 'unix socket of the agent'] as const

/** Where an agent was looked for in vain; '' = there is one. */
export const lookedText = (looked: readonly AgentPlace[]): string =>
  looked.length === 0 ? '' : `No agent was found in ${looked.map(({ stateDir }) => stateDir).join(', ')}.`

/** Adds the commands that only look at this host; they need no running agent. */
export function addHostCommands(program: Command): void {
  program
    .command('show-command <vm>')
    .description("print a VM's hypervisor command line, one argument a line, with what each option is for")
    .option('--json', 'one JSON document')
    .option(...STATE_DIR)
    .option(...SOCKET)
    .action((vm: string, flags: LookFlags) =>
      answer(
        flags,
        async () => {
          const { stateDir, socket, looked } = await findAgent(flags)
          if (looked.length > 0) process.stderr.write(`${lookedText(looked)}\n`)
          return await showCommand(showDeps(stateDir, socket), vm, AbortSignal.timeout(LOOK_MS))
        },
        showText,
        showJson,
      ),
    )

  program
    .command('doctor')
    .description('name every part that is missing or broken here, and the command that mends it')
    .option('--json', 'one JSON document')
    .option(...STATE_DIR)
    .option(...SOCKET)
    .action((flags: LookFlags) => answer(flags, () => examine(flags), doctorText, doctorJson))
}

async function examine(flags: LookFlags): Promise<Finding[]> {
  const { stateDir, socket, others, looked } = await findAgent(flags)
  if (looked.length > 0) process.stderr.write(`${lookedText(looked)}\n`)
  const findings = judge({ ...(await lookAtHost(stateDir, socket)), others })
  process.exitCode = exitCodeOf(findings)
  return findings
}

function showDeps(stateDir: string, socket: string): ShowDeps {
  const layout = agentLayout(stateDir)
  const processes = hostProcesses(process.platform)
  const { hypervisor, probe = probeAcceleration } = hypervisorFacts(process.platform, undefined)
  const acceleration = async () => {
    const asked = await askStatus(socket)
    const known = asked.running && asked.status.stateDir === stateDir ? asked.status.facts?.acceleration : ''
    if (known === 'kvm' || known === 'tcg' || known === 'vz') return known
    const dir = join(stateDir, `probe-${process.pid}`)
    return (await probe({ run, qemu: hypervisor, arch: process.arch, dir })).kind
  }
  const parts = { run, detach, processes, clock: systemClock, log: silentLog, serial: noSerialPump, acceleration }
  return {
    layout,
    records: fileRecords(layout),
    processes,
    backendOf: (name) => makeBackend(process.platform, process.arch, name, parts),
    nicsOf: (vm) => peekNics(stateDir, vm),
    now: Date.now,
    argvOf: procArgv,
  }
}
