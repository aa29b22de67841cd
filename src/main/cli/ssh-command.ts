import { resolve } from 'node:path'
import type { Command } from 'commander'
import { printable } from '../../ipc/fault-text.ts'
import { connectName, DEFAULT_LOGIN, sshHostName } from '../../ipc/names.ts'
import { DEFAULT_TENANT } from '../../ipc/request-headers.ts'
import type { CommandContext, Runner } from './context.ts'
import { login, reference } from './options.ts'
import { type SshWay, sshOptions } from './ssh-options.ts'
import { refusalWord } from './ssh-refusal.ts'

/** Of ssh itself; a command that ends so is another one. */
const SSH_FAILED = 255
const WHY_MS = 5_000

export function sshCommand(root: Command, run: Runner): void {
  run(
    root
      .command('ssh')
      .argument('<vm>', 'name or id')
      .argument('[command...]', 'what to run there, its options too; without it a shell')
      .description(
        'log in to a VM with your own ssh, by a certificate made for it; options of eitri stand before the command',
      )
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
      if (code === SSH_FAILED) await sayWhy(context, vm?.id ?? given)
      context.exitWith(code)
    },
  )
}

/** What the fleet knows of the guest by now; ssh has said its own. */
async function sayWhy(context: CommandContext, id: string): Promise<void> {
  const { vms, trust } = await context.fleet()
  const options = { signal: context.signal, timeoutMs: WHY_MS }
  const known = await Promise.all([vms.getVm({ vm: id }, options), trust.listTrust({}, options)]).catch(() => undefined)
  if (!known?.[0].vm) return
  const word = refusalWord(
    known[0].vm,
    known[1].vms.find(({ vmId }) => vmId === id),
  )
  if (word !== '') context.note(printable(word))
}

/** What `ssh` is told of this program and its control plane. */
export const wayOf = ({ ssh, options }: CommandContext): SshWay => ({
  self: ssh.self,
  dataDir: options.dataDir === undefined ? undefined : resolve(options.dataDir),
  logins: ssh.logins(options.dataDir),
})
