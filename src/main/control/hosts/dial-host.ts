import { join } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import type { HostHop, HostRow, HostSsh, HostTyped } from '../store/host-row.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import { HOP_KEEPALIVE_MS, type HopLease, type OpenHop } from './hop-pool.ts'
import { faultOfVerdict, type KeyPlace, readTrust } from './host-key-trust.ts'
import { onTheWay } from './jump-chain.ts'
import { giveOnTheWay, promptLogin, secretsOnTheWay } from './login-secrets.ts'
import type { OfferedKeys } from './offered-keys.ts'
import { dialByOpenssh, type SshDeps, takeLearnt } from './openssh-way.ts'
import { type SignInRequest, signInAlone, signInAsking } from './sign-in.ts'
import type { SignIn } from './ssh/auth-walk.ts'
import { DEFAULT_KEYS, knownAs, type SshTarget } from './ssh/config.ts'
import { connectSsh, type SshConnection, type SshConnectOptions } from './ssh/connection.ts'
import { parseDestination } from './ssh/destination.ts'
import type { HostKey, HostKeyVerdict } from './ssh/host-keys.ts'
import { noCommonAlgorithm } from './ssh-client-choice.ts'
import { resolveWay } from './ssh-way.ts'

/** What dialling an added host needs beside a sign-in. */
export interface DialDeps extends SshDeps {
  offered: OfferedKeys
  /** How the host is dialled from now on. */
  setSsh(hostId: string, ssh: HostSsh): void
}

export type Asker = Pick<TaskContext, 'ask'>

/**
 * Signs in to an added host with what is known, asking `asker` what is not; without one a code that is needed is
 * ssh/code-needed. The caller closes it. Raises ssh/*, host/unreachable.
 */
export async function signInTo(
  deps: DialDeps,
  host: HostRow,
  signal: AbortSignal,
  asker?: Asker,
): Promise<SshConnection> {
  const ssh = sshOf(host)
  if (ssh.client === 'openssh') return byOpenssh(deps, host, ssh, signal, asker)
  try {
    return await bySsh2(deps, host, ssh, signal, asker)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'ssh/unsupported') throw error
    // Its server has other algorithms since it was added.
    const detail = noCommonAlgorithm(error.params['need'] ?? '')
    const connection = await byOpenssh(deps, host, ssh, signal, asker).catch((cause: unknown) => {
      // Without an ssh that can, what the server wants is the better word.
      throw cause instanceof Fault && cause.code === 'ssh/unsupported' ? error : cause
    })
    deps.setSsh(host.id, { ...ssh, client: 'openssh', clientDetail: detail, typed: typedOf(ssh) })
    return connection
  }
}

async function bySsh2(
  deps: DialDeps,
  host: HostRow,
  ssh: HostSsh,
  signal: AbortSignal,
  asker: Asker | undefined,
): Promise<SshConnection> {
  const own = {
    ...ssh,
    identityFiles: ssh.identityFile ? [ssh.identityFile] : [],
    identitiesOnly: ssh.identitiesOnly === true,
  }
  const target = { ...targetOf(deps, own), host: host.name }
  const known = deps.secrets
  const hops = (ssh.hops ?? []).map((hop) => onTheWay(targetOf(deps, hop), host.name))
  const lease = await deps.hops.lease(host.tenant, hops, openHop(deps, host, signal, asker), signal)
  try {
    const request = {
      target,
      secrets: await known.load(host.id),
      ring: known.ring,
      signInKey: ssh.signInKey,
      connect: await connector(deps, host, target, () => lease.socketTo(target), { signal }),
    }
    const { connection, secrets, keep } = await signedIn(request, {
      signal,
      asker,
      refused: () => void known.refused(host.id),
    })
    known.give(host.id, secrets)
    if (keep) await known.keep(host.id, keep)
    void connection.closed.then(() => lease.release())
    return connection
  } catch (error) {
    lease.release()
    throw error
  }
}

/** A host on the way: its own key, its own sign-in. */
function openHop(deps: DialDeps, host: HostRow, signal: AbortSignal, asker: Asker | undefined): OpenHop {
  return async (hop, socketTo) => {
    const login = promptLogin(hop)
    const request = {
      target: hop,
      secrets: secretsOnTheWay(deps.secrets, host.tenant, login),
      ring: deps.secrets.ring,
      connect: await connector(deps, host, hop, socketTo, { signal, keepaliveMs: HOP_KEEPALIVE_MS }),
    }
    const { connection, secrets } = await signedIn(request, { signal, asker, refused: () => {} })
    giveOnTheWay(deps.secrets, host.tenant, login, secrets)
    return { connection, key: { ...knownAs(hop), key: { ...connection.hostKey, how: 'known-hosts' } } }
  }
}

/** Connects as far as the host's key lets us; what it showed is noted for a person when that is no further. */
async function connector(
  deps: DialDeps,
  host: HostRow,
  target: SshTarget,
  socketTo: () => ReturnType<HopLease['socketTo']>,
  options: Pick<SshConnectOptions, 'signal' | 'keepaliveMs'>,
): Promise<(signIn: SignIn) => Promise<SshConnection>> {
  const trust = await readTrust(target, deps.hostKeys)
  const verify = (key: HostKey) => judged(deps, host, target, key, trust.judge(key))
  return async (signIn) =>
    connectSsh({ ...options, target, signIn, hostKeyOrder: trust.order, verify, socket: await socketTo() })
}

/** Undefined when the key is good. What a person may trust after comparing it is noted. */
function judged(
  { offered }: Pick<DialDeps, 'offered'>,
  host: HostRow,
  place: KeyPlace,
  key: HostKey,
  verdict: HostKeyVerdict,
): Fault | undefined {
  const hop = place.host === host.name ? {} : { hop: place.host }
  offered.note(host.id, isForAPerson(verdict) ? { ...key, ...knownAs(place), ...hop } : undefined)
  return faultOfVerdict(place.host, key, verdict)
}

/** Whether a person who compared it may trust the key. */
const isForAPerson = ({ kind }: HostKeyVerdict): boolean =>
  kind === 'changed' || kind === 'unknown' || kind === 'other-type-known'

async function signedIn(
  request: Omit<SignInRequest, 'task'>,
  { signal, asker, refused }: { signal: AbortSignal; asker: Asker | undefined; refused(): void },
) {
  if (asker) return signInAsking({ ...request, task: { ask: asker.ask.bind(asker), signal } })
  return { connection: await signInAlone({ ...request, refused }), secrets: {}, keep: undefined }
}

async function byOpenssh(
  deps: DialDeps,
  host: HostRow,
  ssh: HostSsh,
  signal: AbortSignal,
  asker: Asker | undefined,
): Promise<SshConnection> {
  const { secrets, hostKeys } = deps
  const typed = ssh.typed ?? typedOf(ssh)
  const way = await resolveWay(deps, typed, signal)
  const known = await secrets.load(host.id)
  const dial = await dialByOpenssh(deps, {
    tenant: host.tenant,
    name: host.name,
    way,
    typed,
    secrets: known,
    ask: asker?.ask.bind(asker),
    judge: async (place, key, presented) => {
      const trust = await readTrust(place, hostKeys)
      const fault = judged(deps, host, place, key, trust.judge({ blob: presented }))
      return fault ? { fault } : { print: trust.own.some(({ blob }) => blob.equals(key.blob)) }
    },
    signal,
  })
  try {
    const connection = await dial.signedIn
    const learnt = dial.learnt()
    secrets.give(host.id, takeLearnt(deps, host.tenant, way, learnt))
    if (learnt.keep) await secrets.keep(host.id, learnt.keep)
    return connection
  } catch (error) {
    if (
      known.password &&
      error instanceof Fault &&
      error.code === 'ssh/auth-refused' &&
      error.params['methods'] === 'password'
    )
      void secrets.refused(host.id)
    throw error
  }
}

function sshOf({ name, ssh }: HostRow): HostSsh {
  if (!ssh) throw new Fault('app/bug', 'bug', { message: `${name} is no SSH host` })
  return ssh
}

/** What the system's ssh is told of a row that was added with ssh2. */
function typedOf({ hostname, port, user, identityFile }: HostSsh): HostTyped {
  return { ...parseDestination(hostname), port, user, ...(identityFile ? { identityFile } : {}) }
}

/** A row as a target, without asking ssh again: its Match exec runs once, when the host is added. */
function targetOf(
  { sshDir, env }: Pick<DialDeps, 'sshDir' | 'env'>,
  row: Omit<HostHop, 'knownHostsFiles'> & Partial<HostHop>,
): SshTarget {
  return {
    host: row.hostname,
    address: row.host,
    port: row.port,
    user: row.user,
    identityFiles: row.identityFiles.length > 0 ? row.identityFiles : DEFAULT_KEYS.map((name) => join(sshDir, name)),
    identitiesOnly: row.identitiesOnly,
    identityAgent: row.identityAgent ?? env['SSH_AUTH_SOCK'] ?? '',
    identityAgentNamed: row.identityAgent !== undefined,
    knownHostsFiles: row.knownHostsFiles ?? [join(sshDir, 'known_hosts'), '/etc/ssh/ssh_known_hosts'],
    hostKeyName: row.hostKeyName ?? row.host,
  }
}
