import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '../ipc/base/clock.ts'
import { silentLog } from '../ipc/base/log.ts'
import { noSerialPump } from './backends/backend.ts'
import { doctorJson, doctorText } from './doctor/doctor-text.ts'
import { exitCodeOf, type Finding, judge } from './doctor/judge.ts'
import { lookAtHost } from './doctor/look.ts'
import { probeAcceleration } from './facts/acceleration-probe.ts'
import { answer } from './install/commands.ts'
import type { AgentPlaces } from './install/places.ts'
import { detach, run } from './os/exec.ts'
import { hostProcesses, hypervisorFacts, makeBackend } from './platform.ts'
import { agentLayout } from './records/layout.ts'
import { fileRecords } from './records/vm-records.ts'
import { procArgv, type ShowDeps, showCommand } from './show-command/show-command.ts'
import { showJson, showText } from './show-command/show-text.ts'
import { askStatus } from './status/agent-status.ts'

/** Longest a command may look for, ms; the probe of what a guest runs on is most of it. */
const LOOK_MS = 60_000

interface LookFlags {
  json?: boolean
  stateDir: string
  socket: string
}

/** Adds the commands that only look at this host; they need no running agent. */
export function addHostCommands(program: Command, places: AgentPlaces): void {
  program
    .command('show-command <vm>')
    .description("print a VM's hypervisor command line, one argument a line, with what each option is for")
    .option('--json', 'one JSON document')
    .option('--state-dir <dir>', 'where VMs, images and the identity are kept', places.stateDir)
    .option('--socket <path>', 'unix socket of the agent', places.socket)
    .action((vm: string, flags: LookFlags) =>
      answer(
        flags,
        () => showCommand(showDeps(resolve(flags.stateDir), resolve(flags.socket)), vm, AbortSignal.timeout(LOOK_MS)),
        showText,
        showJson,
      ),
    )

  program
    .command('doctor')
    .description('name every part that is missing or broken here, and the command that mends it')
    .option('--json', 'one JSON document')
    .option('--state-dir <dir>', 'where VMs, images and the identity are kept', places.stateDir)
    .option('--socket <path>', 'unix socket of the agent', places.socket)
    .action((flags: LookFlags) =>
      answer(flags, () => examine(resolve(flags.stateDir), resolve(flags.socket)), doctorText, doctorJson),
    )
}

async function examine(stateDir: string, socket: string): Promise<Finding[]> {
  const findings = judge(await lookAtHost(stateDir, socket))
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
    now: Date.now,
    argvOf: procArgv,
  }
}
