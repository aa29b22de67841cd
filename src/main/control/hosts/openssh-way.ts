import type { HostTyped } from '../store/host-row.ts'
import type { TaskContext } from '../tasks/task-context.ts'
import type { HopPool } from './hop-pool.ts'
import { type HostKeys, readTrust } from './host-key-trust.ts'
import { giveOnTheWay, promptLogin, secretsOnTheWay } from './login-secrets.ts'
import type { Learnt } from './openssh/answers.ts'
import { dialOpenssh, type OpensshDial, type OpensshDialOptions } from './openssh/dial.ts'
import { requireOpenssh } from './openssh/version.ts'
import type { HostSecrets } from './secrets.ts'
import type { SshTarget } from './ssh/config.ts'
import { type RunLocal, runLocal } from './ssh/config-reader.ts'
import type { Secrets } from './ssh/credentials.ts'
import type { ResolvedWay } from './ssh-way.ts'

/** What every sign-in over SSH needs of this computer. */
export interface SshDeps {
  hostKeys: HostKeys
  secrets: HostSecrets
  hops: HopPool
  sshDir: string
  /** Folder for sockets of this process. */
  runDir: string
  env: Readonly<Record<string, string | undefined>>
  run?: RunLocal | undefined
}

export interface OpensshWay {
  tenant: string
  /** What people call the host. */
  name: string
  way: ResolvedWay
  typed: HostTyped
  /** Of the host itself. */
  secrets: Secrets
  /** Absent = nobody is there. */
  ask?: TaskContext['ask'] | undefined
  judge: OpensshDialOptions['judge']
  signal: AbortSignal
}

/** Lets the system's ssh sign in, with what is known here about keys and secrets. Raises ssh/unsupported; else as `dialOpenssh`. */
export async function dialByOpenssh(deps: SshDeps, options: OpensshWay): Promise<OpensshDial> {
  const { tenant, name, way, typed, secrets, ask, judge, signal } = options
  const target: SshTarget = { ...way.host.target, host: name }
  await requireOpenssh(name, { run: deps.run ?? runLocal, platform: process.platform, signal })
  const { proxyCommand, knownHostsCommand } = way.host.says
  return dialOpenssh({
    target,
    hops: way.hops.map((hop) => hop.target),
    proxied: proxyCommand !== '',
    knownHostsCommand,
    typed,
    sshDir: deps.sshDir,
    runDir: deps.runDir,
    env: deps.env,
    judge,
    known: async (place) => (await readTrust(place, deps.hostKeys)).own,
    prompts: {
      ask,
      // A passphrase typed as the password opens keys too.
      passphrases: [secrets.passphrase, secrets.password].filter((phrase): phrase is string => !!phrase),
      secretsOf: (login) => {
        const owner = ownerOf(way, login)
        if (owner === 'unclear') return {}
        return owner === 'host' ? secrets : secretsOnTheWay(deps.secrets, tenant, login.toLowerCase())
      },
    },
    signal,
  })
}

/** What a person said at prompts: the host's own secrets; those of logins on the way are kept at once, unclear ones never. */
export function takeLearnt(
  deps: Pick<SshDeps, 'secrets'>,
  tenant: string,
  way: ResolvedWay,
  { passphrase, passwords }: Learnt,
): Secrets {
  const own: Secrets = passphrase === undefined ? {} : { passphrase }
  for (const [login, password] of passwords) {
    const owner = ownerOf(way, login)
    if (owner === 'host') own.password = password
    if (owner === 'way') giveOnTheWay(deps.secrets, tenant, login.toLowerCase(), { password })
  }
  return own
}

/**
 * Who asks for the password of this login. ssh leaves ports out of its words, and one address may be another machine's behind
 * a host on the way: where both would ask alike it is unclear, and only a person answers, for this once.
 */
export function ownerOf({ host, hops }: ResolvedWay, login: string): 'host' | 'way' | 'unclear' {
  const isOf = ({ target }: { target: SshTarget }) => promptLogin(target).toLowerCase() === login.toLowerCase()
  const asking = [...hops, host].filter(isOf).length
  if (asking > 1) return 'unclear'
  return isOf(host) ? 'host' : 'way'
}
