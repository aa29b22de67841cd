import { access } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_KEYS } from '../ssh/config.ts'
import { configText } from './config-text.ts'
import { ASK_DIR_VARIABLE } from './programs.ts'
import type { RunFolder } from './run-folder.ts'

export interface DialConfigInput {
  /** The person's ~/.ssh, wherever that is. */
  sshDir: string
  /** As typed. Absent = nobody is dialled before the host, or a program dials. */
  firstHop: string | undefined
  knownHostsCommand: string
}

/** The configuration for a dial: what must hold, then the person's own, then the system's. */
export async function dialConfig({ sshDir, firstHop, knownHostsCommand }: DialConfigInput, folder: RunFolder) {
  const own = join(sshDir, 'config')
  const hasOwn = await access(own).then(
    () => true,
    () => false,
  )
  // ssh looks in the account's home, not in $HOME.
  const isUsual = sshDir === join(userInfo().homedir || homedir(), '.ssh')
  return configText({
    askProgram: folder.askProgram,
    includes: [...(hasOwn ? [own] : []), '/etc/ssh/ssh_config'],
    knownHostsCommand,
    ...(firstHop === undefined ? {} : { firstHop }),
    ...(isUsual
      ? {}
      : {
          elsewhere: {
            knownHosts: join(sshDir, 'known_hosts'),
            identityFiles: DEFAULT_KEYS.map((name) => join(sshDir, name)),
          },
        }),
  })
}

/** The person's environment, with who to ask; English words, so that they can be read. */
export const dialEnvironment = (env: Readonly<Record<string, string | undefined>>, folder: RunFolder) => ({
  ...env,
  LC_ALL: 'C.UTF-8',
  SSH_ASKPASS: folder.askProgram,
  SSH_ASKPASS_REQUIRE: 'force',
  [ASK_DIR_VARIABLE]: folder.dir,
})
