import type { Duplex } from 'node:stream'
import { Fault } from '../../../ipc/faults.ts'
import type { HostHop } from '../store/host-row.ts'
import type { StepContext } from '../tasks/task-context.ts'
import { type AcceptedHostKey, acceptHostKey, type FiledKey } from './accept-host-key.ts'
import { type Door, type Entering, type Entrance, givenSecrets, rowOf, rowOfTarget } from './entrance.ts'
import { HOP_KEEPALIVE_MS, type HopLease, type OpenHop } from './hop-pool.ts'
import { onTheWay } from './jump-chain.ts'
import { giveOnTheWay, promptLogin, secretsOnTheWay } from './login-secrets.ts'
import { OpensshDoor } from './openssh-door.ts'
import { connectPinned, loginOf, type SignedIn, signInAsking } from './sign-in.ts'
import { SignIn } from './ssh/auth-walk.ts'
import { knownAs, type SshTarget } from './ssh/config.ts'
import type { SshConnection } from './ssh/connection.ts'
import { gatherCredentials } from './ssh/credentials.ts'
import { noCommonAlgorithm } from './ssh-client-choice.ts'

/** In by ssh2, through the hosts on the way, each of which is judged and signed in to by itself. */
export class Ssh2Door implements Door {
  readonly #entering: Entering
  readonly #target: SshTarget
  readonly #hops: SshTarget[]
  /** As faults and questions call them. */
  readonly #named: SshTarget[]
  #lease: HopLease | undefined
  #socket: Duplex | undefined
  #key: AcceptedHostKey | undefined

  constructor(entering: Entering) {
    const { host, hops } = entering.read
    this.#entering = entering
    this.#target = host.target
    this.#hops = hops.map((hop) => hop.target)
    this.#named = this.#hops.map((hop) => onTheWay(hop, host.target.host))
  }

  async reach(step: Pick<StepContext, 'detail'>): Promise<Door> {
    const { address, port } = this.#target
    step.detail(`${address}:${port}`)
    try {
      this.#lease = await this.#leased(this.#entering.task.signal, step)
      this.#socket = await this.#lease.socketTo(this.#target)
    } catch (error) {
      const door = this.#another(error, step)
      return door.reach(step)
    }
    step.detail([`${address}:${port}`, ...this.#hops.map((hop) => `through ${hop.host}`)].join(' '))
    return this
  }

  async checkKey(step: Pick<StepContext, 'detail'>): Promise<Door> {
    const { deps, task, way } = this.#entering
    try {
      const given = { socket: this.#socket!, accept: way.acceptHostKey ?? '' }
      this.#key = await acceptHostKey(this.#target, deps.hostKeys, task, step, given)
      return this
    } catch (error) {
      const door = this.#another(error, step)
      try {
        await door.reach(step)
        return await door.checkKey(step)
      } catch (cause) {
        door.leave()
        throw cause
      }
    }
  }

  /** For a server that ssh2 has nothing in common with; any other error is thrown on. */
  #another(error: unknown, step: Pick<StepContext, 'detail'>): Door {
    if (!(error instanceof Fault) || error.code !== 'ssh/unsupported') throw error
    this.leave()
    const detail = noCommonAlgorithm(error.params['need'] ?? '')
    step.detail(detail)
    return new OpensshDoor(this.#entering, detail)
  }

  async signIn(step: Pick<StepContext, 'detail'>): Promise<Entrance> {
    const { deps, task, way } = this.#entering
    const target = this.#target
    const lease = this.#lease!
    const hostKey = this.#key!
    step.detail(loginOf(target))
    const signedIn = await signInAsking({
      target,
      secrets: givenSecrets(way),
      ring: deps.secrets.ring,
      task,
      connect: async (signIn) =>
        connectPinned({ target, hostKey, signal: task.signal, socket: await lease.socketTo(target) }, signIn),
    })
    step.detail(`${loginOf(target)} by ${signedIn.how}`)
    void signedIn.connection.closed.then(() => lease.release())
    const hostKeys: FiledKey[] = [...lease.keys, { ...knownAs(target), key: hostKey }]
    return {
      ...signedIn,
      login: loginOf(target),
      hostKeys,
      ssh: {
        ...rowOf(this.#entering),
        ...(signedIn.identityFile ? { identityFile: signedIn.identityFile } : {}),
        ...(signedIn.signInKey ? { signInKey: signedIn.signInKey } : {}),
        ...(this.#hops.length > 0 ? { hops: this.#hops.map(hopRow) } : {}),
      },
      again: (signal) => this.#again(signedIn, hostKey, signal),
    }
  }

  leave(): void {
    this.#socket?.destroy()
    this.#lease?.release()
  }

  async #again(signedIn: SignedIn, hostKey: AcceptedHostKey, signal: AbortSignal): Promise<SshConnection> {
    const { deps } = this.#entering
    const target = this.#target
    const lease = await this.#leased(signal, { detail: () => {} })
    try {
      const credentials = await gatherCredentials(target, signedIn.secrets, deps.secrets.ring, signedIn.signInKey)
      const socket = await lease.socketTo(target)
      const connection = await connectPinned({ target, hostKey, signal, socket }, new SignIn(credentials))
      void connection.closed.then(() => lease.release())
      return connection
    } catch (error) {
      lease.release()
      throw error
    }
  }

  #leased(signal: AbortSignal, step: Pick<StepContext, 'detail'>): Promise<HopLease> {
    const { deps, tenant, task } = this.#entering
    const open: OpenHop = async (hop, socketTo) => {
      step.detail(`through ${hop.host}`)
      const hostKey = await acceptHostKey(hop, deps.hostKeys, task, step, { socket: await socketTo(), accept: '' })
      const login = promptLogin(hop)
      const { connection, secrets } = await signInAsking({
        target: hop,
        secrets: secretsOnTheWay(deps.secrets, tenant, login),
        ring: deps.secrets.ring,
        task,
        connect: async (signIn) => {
          const way = { target: hop, hostKey, signal, socket: await socketTo(), keepaliveMs: HOP_KEEPALIVE_MS }
          return connectPinned(way, signIn)
        },
      })
      giveOnTheWay(deps.secrets, tenant, login, secrets)
      return { connection, key: { ...knownAs(hop), key: hostKey } }
    }
    return deps.hops.lease(tenant, this.#named, open, signal)
  }
}

/** A host on the way as the row remembers it. */
const hopRow = (hop: SshTarget): HostHop => ({
  ...rowOfTarget(hop),
  hostname: hop.host,
  identityFiles: hop.identityFiles,
})
