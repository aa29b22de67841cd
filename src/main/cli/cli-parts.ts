import { homedir } from 'node:os'
import { join } from 'node:path'
import { controlPaths } from '../control/node-ports.ts'
import type { CliParts } from './context.ts'
import { processIo } from './io.ts'
import { runSsh, selfCommand, sshVersion } from './run-ssh.ts'

/** The command line's real surroundings. */
export function cliParts(): CliParts {
  return {
    io: processIo(),
    now: () => Date.now(),
    apiSocket: (dataDir) => controlPaths({ dataDir }).apiSocket,
    ssh: {
      logins: (dataDir) => controlPaths({ dataDir }).loginAgents,
      dir: join(process.env['HOME'] || homedir(), '.ssh'),
      self: selfCommand(),
      run: runSsh,
      version: sshVersion,
    },
    // Most commands are clients: they start without the control plane's code.
    embed: async (dataDir) => (await import('../serving/serve.ts')).embedControl(dataDir),
    restore: async (...given) => (await import('../serving/restore.ts')).restoreOnDisk(...given),
    serve: async (...given) => (await import('../serving/serve.ts')).serveControl(...given),
  }
}
