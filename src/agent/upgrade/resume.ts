import { systemClock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { BUILD_INFO } from '../build-info.ts'
import type { RunningProgram } from '../install/self.ts'
import { hostProcesses } from '../platform.ts'
import { agentLayout } from '../records/layout.ts'
import { resumeUpgrade } from './upgrader.ts'

/** For an agent about to start: goes on with an upgrade that was cut short. Never raises. */
export async function resumeUpgradeOf({
  stateDir,
  socketPath,
  log,
  ...started
}: {
  stateDir: string
  socketPath: string
  log: Log
  program: RunningProgram
  args: readonly string[]
}): Promise<void> {
  const processes = hostProcesses(process.platform)
  const options = { layout: agentLayout(stateDir), socketPath, processes, clock: systemClock, log }
  await resumeUpgrade({ ...options, self: { ...BUILD_INFO, ...started } }).catch((error: unknown) =>
    log.warn('upgrade.not-resumed', { error: String(error) }),
  )
}
