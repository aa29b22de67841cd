import { runCli } from './cli/cli.ts'
import { cliParts } from './cli/cli-parts.ts'

// The control plane as a process of its own: what `eitri serve` runs, and what Electron forks.
process.exit(await runCli(['serve', ...process.argv.slice(2)], cliParts()))
