import { resolve } from 'node:path'
import type { Command } from 'commander'
import { systemClock } from '../../ipc/base/clock.ts'
import { lineLog } from '../../ipc/base/log.ts'
import { BUILD_INFO } from '../build-info.ts'
import { answer } from '../install/commands.ts'
import { findAgent } from '../install/find-agent.ts'
import { thisHost } from '../install/host-access.ts'
import { runningProgram } from '../install/self.ts'
import { hostProcesses } from '../platform.ts'
import { agentLayout } from '../records/layout.ts'
import { selfCheck, selfCheckText } from './selfcheck.ts'
import { watchUpgrade } from './watch.ts'

interface Named {
  stateDir?: string
  socket?: string
  json?: boolean
}

/** Adds selfcheck, and the command an agent starts of itself while another takes its place. */
export function addUpgradeCommands(program: Command): void {
  program
    .command('selfcheck')
    .description('say whether this program could run the agent of this host; changes nothing')
    .option('--json', 'one JSON document')
    .option('--state-dir <dir>', 'of the agent; needed only where there are several')
    .option('--socket <path>', 'unix socket of the agent')
    .action((flags: Named) =>
      answer(
        flags,
        async () => {
          const { stateDir, socket } = await findAgent(flags)
          const layout = agentLayout(stateDir)
          const looked = await selfCheck({ layout, socketPath: socket, program: runningProgram(), ...BUILD_INFO })
          if (!looked.ok) process.exitCode = 1
          return looked
        },
        selfCheckText,
      ),
    )
  program
    .command('upgrade-watch', { hidden: true })
    .requiredOption('--state-dir <dir>')
    .requiredOption('--socket <path>')
    .option('--resumed')
    .action(async ({ stateDir, socket, resumed }: { stateDir: string; socket: string; resumed?: boolean }) => {
      await watchUpgrade(
        {
          layout: agentLayout(resolve(stateDir)),
          socketPath: resolve(socket),
          host: thisHost(),
          processes: hostProcesses(process.platform),
          clock: systemClock,
          log: lineLog((line) => process.stderr.write(line)),
        },
        { resumed: resumed === true },
      )
    })
}
