import { startAgent } from '../../src/agent/agent.ts'
import { armFailpoints } from '../../src/agent/os/arm-failpoints.ts'
import { lineLog } from '../../src/ipc/base/log.ts'

/** The agent as on a Mac, in a process of its own: state directory, socket and lease file are its arguments. */
armFailpoints(process.env)
process.umask(0o077)
const [stateDir = '', socketPath = '', leases = ''] = process.argv.slice(2)
const agent = await startAgent({
  stateDir,
  socketPath,
  leases,
  socketMode: 0o600,
  platform: 'darwin',
  arch: 'arm64',
  log: lineLog((line) => void process.stderr.write(line)),
})
process.once('SIGTERM', () => void agent.close().then(() => process.exit(0)))
