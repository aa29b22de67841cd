import { runCli } from './cli.ts'
import { cliParts } from './cli-parts.ts'

process.exit(await runCli(process.argv.slice(2), cliParts()))
