import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { Fault } from '../../src/ipc/faults.ts'
import type { AgentLink } from '../../src/main/control/hosts/agent-link.ts'
import type { OnboardingDeps } from '../../src/main/control/hosts/enrol.ts'
import { HopPool } from '../../src/main/control/hosts/hop-pool.ts'
import { OfferedKeys } from '../../src/main/control/hosts/offered-keys.ts'
import { HostSecrets } from '../../src/main/control/hosts/secrets.ts'
import type { SshConnectorDeps } from '../../src/main/control/hosts/ssh-connector.ts'
import { openStores } from '../../src/main/control/store/stores.ts'
import type { Answer, Question, TaskContext } from '../../src/main/control/tasks/task-context.ts'
import { silentStep } from './silent-step.ts'

export const cancelled = new Fault('app/cancelled', 'cancelled')

/** A fleet of its own, as far as adding hosts goes. */
export function aFleet(dir: string, name: string, env: Record<string, string | undefined> = {}) {
  const stores = openStores(path.join(dir, `${name}.sqlite`), systemClock)
  const links: AgentLink[] = []
  const paths = {
    sshDir: path.join(dir, 'ssh'),
    agentArtefacts: path.resolve(import.meta.dirname, '../../dist/agent'),
    localAgentState: path.join(dir, 'agent'),
    localAgentSocket: path.join(dir, 'agent.sock'),
  }
  const deps: OnboardingDeps = {
    tenant: 'default',
    hosts: stores.hosts,
    hostKeys: stores.hostKeys,
    transaction: (work) => stores.db.transaction(work),
    links: { add: (_, link) => void (link && links.push(link)), tryNow: () => {} },
    secrets: new HostSecrets(),
    clock: systemClock,
    log: silentLog,
    paths,
    env,
    platform: 'linux',
    arch: 'x64',
    hops: new HopPool(systemClock),
    attachAs: { fleetId: randomBytes(16).toString('hex'), controllerName: name, version: 'test' },
  }
  const { hosts, hostKeys } = stores
  const { hops, secrets } = deps
  const offered = new OfferedKeys()
  /** What dialling an added host needs. */
  const ssh: SshConnectorDeps = {
    ...{ hostKeys, hops, secrets, offered, env, clock: systemClock },
    sshDir: paths.sshDir,
    runDir: dir,
    setSsh: (id, changed) => hosts.setSsh(id, changed),
  }
  const close = () => {
    for (const link of links) link.close(cancelled)
    stores.db.close()
  }
  return { stores, deps, ssh, links, close }
}

/** A task that answers as the test says, and notes what it saw. */
export function aTask(
  answer: (question: Question) => Answer,
  onStep: (name: string, stop: AbortController) => void = () => {},
) {
  const stop = new AbortController()
  const seen = { planned: [] as string[], done: [] as string[], asked: [] as Question[], said: [] as string[] }
  const task: TaskContext = {
    id: 't1',
    signal: stop.signal,
    plan: (steps) => seen.planned.push(...steps),
    async step(name, run) {
      onStep(name, stop)
      stop.signal.throwIfAborted()
      const result = await run({ ...silentStep, detail: (text) => seen.said.push(`${name}: ${text}`) })
      seen.done.push(name)
      return result
    },
    skip: () => {},
    async ask(question) {
      seen.asked.push(question)
      return answer(question)
    },
  }
  return { task, seen }
}
