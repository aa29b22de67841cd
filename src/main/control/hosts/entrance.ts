import { dirname } from 'node:path'
import type { HostSsh } from '../store/host-row.ts'
import type { Keep, StepContext, TaskContext } from '../tasks/task-context.ts'
import type { FiledKey } from './accept-host-key.ts'
import type { OnboardingDeps, SshWay } from './enrol.ts'
import type { SshDeps } from './openssh-way.ts'
import type { SshTarget } from './ssh/config.ts'
import type { SshConnection } from './ssh/connection.ts'
import type { Secrets } from './ssh/credentials.ts'
import type { Way } from './ssh-way.ts'

/** A host that let us in, whichever client carries it. */
export interface Entrance {
  connection: SshConnection
  /** user@host, for people. */
  login: string
  secrets: Secrets
  /** Where the person said they stay. Absent = nothing was said. */
  keep?: Keep
  /** Keys to trust from now on: its own last, those of hosts on the way before. */
  hostKeys: FiledKey[]
  /** How it is dialled again. */
  ssh: Omit<HostSsh, 'useSudo'>
  /** Signs in once more, asking where that needs a person. The caller closes it. */
  again(signal: AbortSignal): Promise<SshConnection>
}

/** What a sign-in by either client goes by. */
export interface Entering {
  deps: SshDeps
  tenant: string
  way: SshWay
  read: Way
  task: TaskContext
}

/** The way in of one client, step by step. */
export interface Door {
  /** The door to go on with, here and below: another one when this client turns out not to be able. */
  reach(step: Pick<StepContext, 'detail'>): Promise<Door>
  checkKey(step: Pick<StepContext, 'detail'>): Promise<Door>
  signIn(step: Pick<StepContext, 'detail'>): Promise<Entrance>
  /** Nothing of it stays open. Idempotent. */
  leave(): void
}

/** What a sign-in over SSH needs of an onboarding. */
export const sshDepsOf = (deps: OnboardingDeps): SshDeps => ({
  ...deps,
  sshDir: deps.paths.sshDir,
  runDir: dirname(deps.paths.localAgentSocket),
})

/** Secrets given with the request. */
export const givenSecrets = (way: SshWay): Secrets => ({
  ...(way.password ? { password: way.password } : {}),
  ...(way.passphrase ? { passphrase: way.passphrase } : {}),
})

/** Pure: what a row remembers of a target, of the host itself or of one on the way. */
export const rowOfTarget = (target: SshTarget) => ({
  host: target.address,
  port: target.port,
  user: target.user,
  identitiesOnly: target.identitiesOnly,
  ...(target.hostKeyName === target.address ? {} : { hostKeyName: target.hostKeyName }),
  ...(target.identityAgentNamed ? { identityAgent: target.identityAgent } : {}),
  knownHostsFiles: target.knownHostsFiles,
})

/** Pure: what of the row the configuration decides. */
export function rowOf({ way, read: { host, typed } }: Pick<Entering, 'way' | 'read'>): Omit<HostSsh, 'useSudo'> {
  return { ...rowOfTarget(host.target), identityFile: typed.identityFile ?? '', hostname: way.host }
}
