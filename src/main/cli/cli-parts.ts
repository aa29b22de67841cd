import { controlPaths } from '../control/node-ports.ts'
import type { CliParts } from './context.ts'
import { processIo } from './io.ts'

/** The command line's real surroundings. */
export function cliParts(): CliParts {
  return {
    io: processIo(),
    now: () => Date.now(),
    apiSocket: (dataDir) => controlPaths({ dataDir }).apiSocket,
    // Most commands are clients: they start without the control plane's code.
    embed: async (dataDir) => (await import('../serving/serve.ts')).embedControl(dataDir),
    serve: async (...given) => (await import('../serving/serve.ts')).serveControl(...given),
  }
}
