import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import type { Runner } from './context.ts'

/** Port of `--listen`; undefined = the unix socket alone. */
function listen(text: string): number | undefined {
  if (text === 'unix') return undefined
  const port = Number(/^127\.0\.0\.1:(\d{1,5})$/.exec(text)?.[1] ?? Number.NaN)
  if (port >= 0 && port <= 65535) return port
  throw new InvalidArgumentError('use unix or 127.0.0.1:PORT.')
}

interface Options {
  listen?: number
  open?: boolean
  readyJson?: boolean
  caPassphrase?: boolean
  dataDir?: string
}

export function serveCommand(root: Command, run: Runner): void {
  run(
    root
      .command('serve')
      .description('the control plane, until it is told to stop')
      .option('--listen <where>', 'unix, or 127.0.0.1:PORT for browsers too (0 = any port)', listen)
      .option('--open', 'open it in a browser window')
      .option('--ready-json', 'say one JSON line on stdout once it is ready')
      .option('--ca-passphrase', 'ask for a passphrase that seals private CA keys from now on'),
    async (context, options: Options) => {
      const port = options.listen ?? (options.open ? 0 : undefined)
      const { dataDir } = context.options
      await context.parts.serve(
        {
          ...(dataDir === undefined ? {} : { dataDir }),
          ...(port === undefined ? {} : { port }),
          open: options.open ?? false,
          readyJson: options.readyJson ?? false,
          caPassphrase: options.caPassphrase ?? false,
        },
        context.io,
        context.signal,
      )
    },
  )
}
