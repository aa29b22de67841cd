import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import type { Fault } from '../../src/ipc/faults.ts'
import { SignIn } from '../../src/main/control/hosts/ssh/auth-walk.ts'
import type { SshTarget } from '../../src/main/control/hosts/ssh/config.ts'
import { connectSsh, type SshConnection } from '../../src/main/control/hosts/ssh/connection.ts'
import { gatherCredentials, KeyRing, type Secrets } from '../../src/main/control/hosts/ssh/credentials.ts'
import { HOST_KEY_ALGORITHMS, type HostKey } from '../../src/main/control/hosts/ssh/host-keys.ts'
import { firstExec, openAgent } from '../../src/main/control/hosts/ssh-connector.ts'

export { silentLog, systemClock }

export const forever = new AbortController().signal

export const targetOf = (
  sshd: { port: number; user: string; keyFile?: string },
  over: Partial<SshTarget> = {},
): SshTarget => ({
  host: 'lab',
  address: '127.0.0.1',
  port: sshd.port,
  user: sshd.user,
  identityFiles: sshd.keyFile ? [sshd.keyFile] : [],
  identitiesOnly: true,
  identityAgent: '',
  identityAgentNamed: false,
  knownHostsFiles: [],
  hostKeyName: '127.0.0.1',
  ...over,
})

/** Signs in as the app does. */
export async function signIn(
  target: SshTarget,
  { secrets = {}, verify = () => undefined }: { secrets?: Secrets; verify?: (key: HostKey) => Fault | undefined } = {},
): Promise<SshConnection> {
  const credentials = await gatherCredentials(target, secrets, new KeyRing())
  const order = [...HOST_KEY_ALGORITHMS]
  return connectSsh({ target, signIn: new SignIn(credentials), hostKeyOrder: order, verify, signal: forever })
}

/** Signs in and opens the agent behind. */
export async function openLab(target: SshTarget, agent: { socketPath: string; executable: string }) {
  const connection = await signIn(target)
  await firstExec(connection, 'lab', forever)
  const place = { ...agent, stateDir: '', startedBy: 'systemd' }
  const link = await openAgent(connection, place, { host: 'lab', clock: systemClock, signal: forever, mayStart: true })
  return { connection, link }
}
