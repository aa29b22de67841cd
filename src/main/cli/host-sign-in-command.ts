import type { Command } from 'commander'
import type { Runner } from './context.ts'
import { followTask } from './follow-task.ts'
import { answerHost } from './host-answer.ts'
import { reference } from './options.ts'
import { invalid } from './outcome.ts'
import { stdinLines } from './prompts.ts'

const SIGN_IN_MS = 15 * 60_000
export const KEEP_HELP = 'where secrets stay: memory until the app ends, or the keychain too'

interface Options {
  passwordStdin?: boolean
  keep?: string
  forget?: boolean
}

/** `host sign-in`: answers what the host asks, a code for one, and waits until it is connected. */
export function signInCommand(host: Command, run: Runner): void {
  const command = host
    .command('sign-in <name>')
    .description('sign in to a host of the fleet that asks for something, or forget what is kept for that')
    .option('--password-stdin', 'standard input: SSH password or passphrase, then the sudo password')
    .option('--keep <memory|keychain>', KEEP_HELP)
    .option('--forget', 'forget the secrets of the host; a connection that is up stays')
  run(command, async (context, name: string, options: Options) => {
    context.deadline(SIGN_IN_MS)
    const ref = reference('host', name)
    const fleet = await context.fleet()
    const { signal } = context
    if (options.forget) {
      if (options.passwordStdin || options.keep !== undefined) throw invalid('--forget', '', 'it stands alone')
      await fleet.hosts.forgetHostSecrets({ host: ref }, { signal })
    } else {
      const [password = '', sudoPassword = ''] = options.passwordStdin ? await stdinLines(context.io, 2) : []
      const keep = options.keep ?? ''
      const request = { host: ref, password, passphrase: password, sudoPassword, keep, ask: true }
      const { task } = await fleet.hosts.signInHost(request, { signal })
      if (task) await followTask(context, fleet, task)
    }
    await answerHost(context, ref)
  })
}
