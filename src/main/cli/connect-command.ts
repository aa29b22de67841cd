import type { Command } from 'commander'
import { vmOfSshHost } from '../../ipc/names.ts'
import type { Runner } from './context.ts'
import { login, reference, tcpPort } from './options.ts'
import { runTunnel } from './tunnel-client.ts'

export function connectCommand(root: Command, run: Runner): void {
  run(
    root
      .command('connect')
      .argument('<vm>', 'name, id, or as ssh has it: web.eitri')
      .argument('<port>', 'TCP port in the guest', tcpPort)
      .description('a connection to a port of a VM on standard input and output, as a ProxyCommand of ssh has it')
      .option('--login <name>', 'have a certificate for this login ready for ssh meanwhile', login),
    async (context, given: string, port: number, options: { login?: string }) => {
      context.deadline(null)
      const named = vmOfSshHost(given)
      const { askAs, io, signal } = context
      // With --embedded it is started by this.
      await context.fleet()
      await runTunnel({
        ...{ socketPath: context.socketPath, signal },
        askAs: named ? { ...askAs, tenant: named.tenant } : askAs,
        vm: reference('vm', named?.vm ?? given),
        port,
        login: options.login ?? '',
        input: io.stdin,
        output: io.stdout,
        outputEnded: () => {
          if (io.stdout.isTTY !== true) io.endOutput()
        },
      })
    },
  )
}
