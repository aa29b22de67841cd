import { randomBytes } from 'node:crypto'
import { Fault } from '../../../ipc/faults.ts'
import type { Hello } from '../../../ipc/gen/eitri/agent/v1/sync_pb.js'
import type { Readmission } from '../store/host-life-store.ts'
import type { HostRow, HostSsh } from '../store/host-row.ts'
import { alreadyAdded } from '../store/hosts-store.ts'
import { toldByHello } from '../sync/host-told.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import type { AgentLink } from './agent-link.ts'
import { fileHostKeys, firstHello, identityOf, type OnboardingDeps, type SshWay } from './enrol.ts'
import { type Entrance, sshDepsOf } from './entrance.ts'
import { hashOfToken } from './join-blobs.ts'
import { OWN_KEY, type OwnKey } from './own-key.ts'
import { loginOf } from './sign-in.ts'
import type { SshTarget } from './ssh/config.ts'
import { openAgent, RUN_ALONE } from './ssh-connector.ts'
import { readWay } from './ssh-way.ts'
import { Ssh2Door } from './ssh2-door.ts'

/** What lets hosts in that joined by a blob. */
export interface JoinDeps {
  key: OwnKey
  /** Uses a token up; its tenant. Raises host/token-refused. */
  redeem(hash: string, hostId: string): string
  readmit(hostId: string, way: Readmission): HostRow
}

/** The login a join makes. */
const LOGIN_USER = 'eitri'

export const JOINED_STEPS = ['Read config', 'Reach address', 'Check host key', 'Sign in', 'Reach agent', 'First report']

/**
 * Adds a host that joined by a blob of this store, or lets one in again; the id of its row. Nothing is put on the host.
 * Raises host/token-refused, host/name-taken, host/already-added, and the fault of the step that failed.
 */
export async function addJoinedHost(
  deps: OnboardingDeps,
  joins: JoinDeps,
  way: SshWay & { name: string },
  task: TaskContext,
): Promise<string> {
  task.plan(JOINED_STEPS)
  const { name } = way
  deps.secrets.ring.put(OWN_KEY, await joins.key.open())
  const entrance = await enter(deps, way, task)
  let link: AgentLink | undefined
  try {
    const opened = await task.step('Reach agent', async (step) => {
      const place = { socketPath: RUN_ALONE, executable: '', stateDir: '', startedBy: '' }
      const options = { host: name, clock: deps.clock, signal: task.signal, mayStart: false }
      const reached = await openAgent(entrance.connection, place, options)
      step.detail(`reached by ${reached.carrier}`)
      return reached
    })
    link = opened
    const hello = await task.step('First report', async (step) => {
      const first = await firstHello(deps, opened, { name, takeOver: way.takeOver === true }, task)
      step.detail(`agent ${first.agentVersion}`)
      return first
    })
    task.signal.throwIfAborted()
    return store(deps, joins, { name, entrance, hello, link: opened })
  } catch (error) {
    link?.close(new Fault('app/cancelled', 'cancelled'))
    entrance.connection.close()
    throw error
  }
}

async function enter(deps: OnboardingDeps, way: SshWay & { name: string }, task: TaskContext): Promise<Entrance> {
  const ssh = sshDepsOf(deps)
  const typedUser = way.host.includes('@') ? {} : { user: way.user || LOGIN_USER }
  const read = await task.step('Read config', (step) =>
    readWay(ssh, { ...way, ...typedUser, identityFile: '' }, task.signal, step),
  )
  if (read.choice.client === 'openssh') {
    const next = 'Reach it by an address that needs no more than a plain connection.'
    throw new Fault('ssh/unsupported', 'permanent', { host: way.name, need: read.choice.detail, next })
  }
  const target: SshTarget = {
    ...read.host.target,
    ...{ identityFiles: [OWN_KEY], identitiesOnly: true, identityAgent: '', identityAgentNamed: true },
  }
  // There is nothing but the key: a server that wants more does not know it.
  const ask: TaskContext['ask'] = (question, gone) => {
    if (question.kind === 'host_key' || question.kind === 'take_over') return task.ask(question, gone)
    throw new Fault('ssh/auth-refused', 'permanent', { address: loginOf(target), methods: OWN_KEY })
  }
  const asking: TaskContext = {
    id: task.id,
    signal: task.signal,
    plan: () => {},
    step: task.step,
    skip: task.skip,
    ask,
  }
  const entering = {
    deps: ssh,
    tenant: deps.tenant,
    way,
    read: { ...read, host: { ...read.host, target } },
    task: asking,
  }
  const door = new Ssh2Door(entering)
  try {
    await task.step('Reach address', (step) => door.reach(step))
    await task.step('Check host key', (step) => door.checkKey(step))
    return await task.step('Sign in', (step) => door.signIn(step))
  } catch (error) {
    door.leave()
    throw error
  }
}

/** One transaction: the token is used up with the row it makes, or lets in again, and with nothing else. */
function store(
  deps: OnboardingDeps,
  joins: JoinDeps,
  { name, entrance, hello, link }: { name: string; entrance: Entrance; hello: Hello; link: AgentLink },
): string {
  const identityPublicKey = identityOf(hello)
  const known = deps.hosts.findByIdentity(identityPublicKey)
  if (known && (known.tenant !== deps.tenant || known.name !== name)) throw alreadyAdded(deps.tenant, known)
  if (!known && deps.hosts.findByName(deps.tenant, name)) throw new Fault('host/name-taken', 'conflict', { host: name })
  const id = known?.id ?? randomBytes(16).toString('hex')
  const ssh: HostSsh = {
    ...entrance.ssh,
    ...{ identityFile: OWN_KEY, identitiesOnly: true, identityAgent: '', useSudo: false },
  }
  const agent = {
    ...{ socketPath: RUN_ALONE, executable: '', stateDir: hello.stateDir },
    ...{ runsAs: hello.facts?.runsAs ?? '', startedBy: hello.facts?.startedBy ?? '' },
  }
  const hostKeyFingerprint = entrance.hostKeys.at(-1)?.key.fingerprint ?? ''
  const facts = toldByHello(hello, null).facts ?? null
  deps.transaction(() => {
    // A token of another tenant is none here.
    if (joins.redeem(hashOfToken(hello.joinToken), id) !== deps.tenant)
      throw new Fault('host/token-refused', 'permanent')
    if (known) joins.readmit(id, { ssh, agent, hostKeyFingerprint, credential: 'key' })
    else {
      const row = { id, tenant: deps.tenant, name, kind: 'ssh' as const, ssh, hostKeyFingerprint, facts }
      deps.hosts.create({ ...row, agent: { ...agent, identityPublicKey }, credential: 'key' })
    }
    fileHostKeys(deps, entrance.hostKeys)
  })
  if (known) {
    link.close(new Fault('app/cancelled', 'cancelled'))
    deps.links.tryNow(id)
  } else deps.links.add(id, link)
  return id
}
