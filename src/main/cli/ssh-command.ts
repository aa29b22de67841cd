import { resolve } from 'node:path'
import type { Command } from 'commander'
import { connectName, sshHostName } from '../../ipc/names.ts'
import { DEFAULT_TENANT } from '../../ipc/request-headers.ts'
import type { CommandContext, Runner } from './context.ts'
import { login, reference } from './options.ts'
import { DEFAULT_LOGIN, type SshWay, sshOptions } from './ssh-options.ts'

export function sshCommand(root: Command, run: Runner): void {
  run(
    root
      .command('ssh')
      .argument('<vm>', 'name or id')
      .argument('[command...]', 'what to run there; without it a shell')
      .description('log in to a VM with your own ssh, by a certificate made for it')
      .option('--login <name>', `whom to log in as (default "${DEFAULT_LOGIN}")`, login),
    async (context, given: string, command: string[], options: { login?: string }) => {
      context.deadline()
      const { vms } = await context.fleet()
      const { vm } = await vms.getVm({ vm: reference('vm', given) }, { signal: context.signal })
      context.deadline(null)
      const tenant = context.options.tenant ?? DEFAULT_TENANT
      const host = sshHostName(tenant, vm?.name ?? given)
      const whom = options.login ?? DEFAULT_LOGIN
      const known: [string, string] = ['HostKeyAlias', connectName(tenant, vm?.name ?? given)]
      const ours = sshOptions(wayOf(context), { login: whom, host, port: '22' })
      const args = [...ours, known].flatMap(([name, value]) => ['-o', `${name}=${value}`])
      const code = await context.ssh.run(
        [...args, '-l', whom, host, ...(command.length > 0 ? ['--', ...command] : [])],
        context.signal,
      )
      context.exitWith(code)
    },
  )
}

/** What `ssh` is told of this program and its control plane. */
export const wayOf = ({ ssh, options }: CommandContext): SshWay => ({
  self: ssh.self,
  dataDir: options.dataDir === undefined ? undefined : resolve(options.dataDir),
  logins: ssh.logins(options.dataDir),
})
