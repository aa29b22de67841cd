import { controlPaths } from '../control/node-ports.ts'
import { embedControl, serveControl } from '../serving/serve.ts'
import type { CliParts } from './context.ts'
import { processIo } from './io.ts'

/** The command line's real surroundings. */
export function cliParts(): CliParts {
  return {
    io: processIo(),
    now: () => Date.now(),
    apiSocket: (dataDir) => controlPaths({ dataDir }).apiSocket,
    embed: embedControl,
    serve: serveControl,
  }
}
