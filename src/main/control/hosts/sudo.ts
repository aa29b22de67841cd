import { Fault } from '../../../ipc/faults.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import { SECRET_TRIES } from './sign-in.ts'
import type { SshConnection } from './ssh/connection.ts'
import { runScript } from './ssh/script.ts'

const SUDO_TIMEOUT_MS = 30_000

/**
 * Finds out what sudo needs before anything depends on it, asking for its password up to three times; the password that
 * works, or undefined when it needs none. Raises ssh/sudo-refused.
 */
export async function checkSudo(
  connection: Pick<SshConnection, 'exec'>,
  { host, login, password }: { host: string; login: string; password: string | undefined },
  task: Pick<TaskContext, 'ask' | 'signal'>,
): Promise<string | undefined> {
  const run = (secret: string | undefined) =>
    runScript(connection, 'true', { host, signal: task.signal, timeoutMs: SUDO_TIMEOUT_MS, sudo: { password: secret } })
  let secret = password
  for (let asked = 0; ; asked++) {
    try {
      await run(secret)
      return secret
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'ssh/sudo-refused') throw error
      if (!('retry' in error.params) || asked >= SECRET_TRIES) throw error
      const problem = secret === undefined ? '' : 'sudo did not take that password.'
      const of = whosePassword(login, error.params['whose'] ?? '')
      secret = (await task.ask({ kind: 'secret', what: 'sudo_password', of, problem })).secret
      if (!secret) throw error
    }
  }
}

/** sudo may want the password of another than the login (rootpw, targetpw). */
function whosePassword(login: string, whose: string): string {
  const [user, host] = login.split('@')
  return whose === '' || whose === user ? login : `${whose}@${host}`
}
