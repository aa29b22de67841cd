import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { Fault } from '../../../ipc/faults.ts'
import type { HostTyped } from '../store/host-row.ts'
import type { StepContext } from '../tasks/task-context.ts'
import type { SshWay } from './enrol.ts'
import { readChain } from './jump-chain.ts'
import type { ConfiguredHost } from './ssh/config.ts'
import { listConfigHosts } from './ssh/config-hosts.ts'
import { type RunLocal, readTarget, runLocal } from './ssh/config-reader.ts'
import { type Destination, parseDestination } from './ssh/destination.ts'
import { type ClientChoice, chooseClient } from './ssh-client-choice.ts'
import { gatherClientFacts } from './ssh-client-facts.ts'

export interface WayDeps {
  sshDir: string
  env: Readonly<Record<string, string | undefined>>
  run?: RunLocal | undefined
}

/** A host and those on the way to it, first to dial first, as the SSH configuration has them now. */
export interface ResolvedWay {
  host: ConfiguredHost
  hops: ConfiguredHost[]
}

/** How a host is reached, read once when a person picks it. */
export interface Way extends ResolvedWay {
  choice: ClientChoice
  /** What the system's ssh is told: it reads its configuration itself. */
  typed: HostTyped
}

/** Asks ssh about a host and those on the way, which runs the configuration's `Match exec`. Raises ssh/config-invalid. */
export async function resolveWay(
  { sshDir, env, run = runLocal }: WayDeps,
  typed: HostTyped,
  signal: AbortSignal,
): Promise<ResolvedWay> {
  const read = (destination: Destination) => readTarget(destination, { sshDir, env }, signal, run)
  const { target, says } = await read(typed)
  const host = {
    target: typed.identityFile ? { ...target, identityFiles: [typed.identityFile], identitiesOnly: true } : target,
    says: typed.jump ? { ...says, proxyJump: typed.jump, proxyCommand: '' } : says,
  }
  const jump = host.says.proxyCommand === '' ? host.says.proxyJump : ''
  return { host, hops: await readChain(target, jump, read) }
}

/**
 * What was typed, and what the SSH configuration makes of it: target, hosts on the way, and the client for it. Raises
 * input/invalid, ssh/config-invalid, ssh/key-unreadable.
 */
export async function readWay(
  deps: WayDeps,
  way: SshWay,
  signal: AbortSignal,
  step: Pick<StepContext, 'detail'>,
): Promise<Way> {
  const typed: HostTyped = {
    ...parseDestination(way.host),
    ...(way.user ? { user: way.user } : {}),
    ...(way.port === undefined ? {} : { port: way.port }),
    ...(way.identityFile ? { identityFile: await existingIdentity(way.identityFile) } : {}),
    ...(way.jump ? { jump: way.jump } : {}),
  }
  const { matchExec } = await listConfigHosts(deps.sshDir)
  if (matchExec) step.detail('your ssh configuration runs commands of its own (Match exec)')
  const resolved = await resolveWay(deps, typed, signal)
  const choice = await choose(resolved, deps.run ?? runLocal, signal)
  const { target } = resolved.host
  const said = [
    `${target.user}@${target.address}:${target.port}`,
    ...(resolved.hops.length > 0 ? [`through ${resolved.hops.map((hop) => hop.target.host).join(', ')}`] : []),
    ...(choice.client === 'openssh' ? [choice.detail] : []),
    ...(matchExec ? ['your ssh configuration ran commands of its own (Match exec)'] : []),
  ]
  step.detail(said.join('; '))
  return { ...resolved, choice, typed }
}

/** The host itself first, then those on the way: the first that needs OpenSSH decides for all. */
async function choose({ host, hops }: ResolvedWay, run: RunLocal, signal: AbortSignal): Promise<ClientChoice> {
  for (const one of [host, ...hops]) {
    const facts = await gatherClientFacts(one, run, signal)
    const choice = chooseClient(facts, one === host ? '' : one.target.host)
    if (choice.client === 'openssh') return choice
  }
  return { client: 'ssh2' }
}

async function existingIdentity(written: string): Promise<string> {
  const file = written.startsWith('~/') ? join(homedir(), written.slice(2)) : resolve(written)
  await access(file).catch((error: unknown) => {
    const detail = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : 'it cannot be read'
    throw new Fault('ssh/key-unreadable', 'permanent', { file, detail }, { cause: error })
  })
  return file
}
