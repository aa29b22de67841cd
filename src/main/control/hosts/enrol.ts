import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../ipc/base/clock.ts'
import type { Log } from '../../../ipc/base/log.ts'
import { Fault } from '../../../ipc/faults.ts'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { HostRow, NewHost } from '../store/host-row.ts'
import { alreadyAdded } from '../store/hosts-store.ts'
import { toldByHello } from '../sync/host-told.ts'
import type { Keep, TaskContext } from '../tasks/task-context.ts'
import type { FiledKey } from './accept-host-key.ts'
import type { AgentLink } from './agent-link.ts'
import { type AttachAs, attachOnce } from './attach-once.ts'
import type { HopPool } from './hop-pool.ts'
import type { HostKeys } from './host-key-trust.ts'
import type { HostSecrets } from './secrets.ts'
import type { RunLocal } from './ssh/config-reader.ts'
import type { Secrets } from './ssh/credentials.ts'

export interface SshWay {
  /** As typed. */
  host: string
  port?: number
  user?: string
  identityFile?: string
  /** Hosts to go through, as `ssh -J` has it; "none" = straight on. Absent or empty = as ssh says. */
  jump?: string
  /** SHA256:… a person accepted beforehand. */
  acceptHostKey?: string
  password?: string
  passphrase?: string
  /** Where secrets stay. Absent = memory. */
  keep?: Keep
  useSudo?: boolean
  sudoPassword?: string
  takeOver?: boolean
  installPackages?: boolean
  /** It joined by a blob: it is reached with this store's own key, and nothing is put there. */
  joined?: boolean
}

export interface AddHostInput {
  name: string
  /** takeOver: also from another control plane, without asking. */
  way: { kind: 'local'; takeOver?: boolean } | ({ kind: 'ssh' } & SshWay)
}

export interface OnboardingDeps {
  /** Whose the host becomes. */
  tenant: string
  hosts: {
    findByName(tenant: string, name: string): HostRow | undefined
    /** Of every tenant. */
    findByIdentity(identityPublicKey: string): HostRow | undefined
    create(host: NewHost): HostRow
  }
  hostKeys: HostKeys
  /** All or nothing. */
  transaction<T>(work: () => T): T
  links: { add(hostId: string, link?: AgentLink): void; tryNow(hostId: string): void }
  secrets: HostSecrets
  clock: Clock
  log: Log
  paths: { sshDir: string; agentArtefacts: string; localAgentState: string; localAgentSocket: string }
  env: Readonly<Record<string, string | undefined>>
  platform: NodeJS.Platform
  arch: string
  attachAs: AttachAs
  hops: HopPool
  run?: RunLocal
}

/** The first session: proves the agent's identity, asks before taking it from another control plane, waits for a report. */
export async function firstReport(
  deps: OnboardingDeps,
  link: AgentLink,
  { name, takeOver }: { name: string; takeOver: boolean },
  task: Pick<TaskContext, 'ask' | 'signal'>,
): Promise<Hello> {
  const hello = await firstHello(deps, link, { name, takeOver }, task)
  const known = deps.hosts.findByIdentity(identityOf(hello))
  if (!known) return hello
  // That host's own session was just superseded by this one.
  deps.links.tryNow(known.id)
  throw alreadyAdded(deps.tenant, known)
}

/** The first session, of whichever host it turns out to be; asks before taking it from another control plane. */
export async function firstHello(
  { attachAs }: Pick<OnboardingDeps, 'attachAs'>,
  link: AgentLink,
  { name, takeOver }: { name: string; takeOver: boolean },
  task: Pick<TaskContext, 'ask' | 'signal'>,
): Promise<Hello> {
  const attach = (over: boolean) =>
    attachOnce(link, name, attachAs, { takeOver: over, signal: task.signal }).then(({ hello }) => hello)
  return attach(takeOver).catch(async (error: unknown) => {
    await agreeToTakeOver(error, task)
    return attach(true)
  })
}

/** Throws the error on unless it is another control plane's hold and a person agrees to end that. */
export async function agreeToTakeOver(error: unknown, task: Pick<TaskContext, 'ask'>): Promise<void> {
  if (!(error instanceof Fault) || error.code !== 'agent/foreign-controller') throw error
  const { agree } = await task.ask({ kind: 'take_over', controllerName: error.params['controller'] ?? '' })
  if (agree !== true) throw error
}

export interface HostToStore {
  name: string
  kind: NewHost['kind']
  ssh: NewHost['ssh']
  agent: Omit<NewHost['agent'], 'identityPublicKey'>
  /** Its own last, those of hosts on the way before it. Empty without SSH. */
  hostKeys: readonly FiledKey[]
  secrets: Secrets
  hello: Hello
  link: AgentLink
}

/** The end of every onboarding: one transaction, then the link goes on with the connection it has. */
export function storeHost(deps: OnboardingDeps, host: HostToStore): string {
  const id = randomBytes(16).toString('hex')
  const { name, kind, ssh, hostKeys, hello } = host
  deps.transaction(() => {
    deps.hosts.create({
      id,
      tenant: deps.tenant,
      name,
      kind,
      ssh,
      agent: { ...host.agent, identityPublicKey: identityOf(hello) },
      hostKeyFingerprint: hostKeys.at(-1)?.key.fingerprint ?? '',
      facts: toldByHello(hello, null).facts ?? null,
    })
    fileHostKeys(deps, hostKeys)
  })
  deps.secrets.give(id, host.secrets)
  deps.links.add(id, host.link)
  return id
}

/** Keys a person, or their known_hosts, trusts: pinned from now on. Inside of the transaction that stores the host. */
export function fileHostKeys(
  { hostKeys, clock }: Pick<OnboardingDeps, 'hostKeys' | 'clock'>,
  filed: readonly FiledKey[],
): void {
  const firstSeen = new Date(clock.now())
  for (const { host, port, key } of filed) {
    const { type, blob, fingerprint, how } = key
    // An authority vouches for the next key too: pinning this one would refuse it.
    if (how !== 'authority') hostKeys.accept({ host, port, type, blob, fingerprint, firstSeen, how })
  }
}

/** The identity an agent proved, as rows have it: base64. */
export const identityOf = (hello: Hello): string => Buffer.from(hello.identityPublicKey).toString('base64')
