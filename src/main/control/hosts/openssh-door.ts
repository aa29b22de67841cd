import { Fault } from '../../../ipc/faults.ts'
import type { StepContext } from '../tasks/task-context.ts'
import { acceptedWords, type FiledKey, judgeShownKey } from './accept-host-key.ts'
import { type Door, type Entering, type Entrance, givenSecrets, rowOf } from './entrance.ts'
import { type KeyPlace, readTrust } from './host-key-trust.ts'
import type { KeyJudgement, OpensshDial } from './openssh/dial.ts'
import { dialByOpenssh, takeLearnt } from './openssh-way.ts'
import { loginOf } from './sign-in.ts'
import { knownAs } from './ssh/config.ts'
import type { SshConnection } from './ssh/connection.ts'
import type { HostKey } from './ssh/host-keys.ts'

/** In by the system's ssh, which is asked about as it goes: keys and prompts become questions of the task. */
export class OpensshDoor implements Door {
  readonly #entering: Entering
  readonly #detail: string
  readonly #keys = new Map<string, FiledKey>()
  readonly #stop = new AbortController()
  /** Keys are judged in their own step. */
  readonly #judging = Promise.withResolvers<void>()
  #step: Pick<StepContext, 'detail'> = { detail: () => {} }
  #dial: OpensshDial | undefined

  /** `detail`: why ssh2 does not carry it. */
  constructor(entering: Entering, detail: string) {
    this.#entering = entering
    this.#detail = detail
  }

  async reach(step: Pick<StepContext, 'detail'>): Promise<Door> {
    const { host, hops } = this.#entering.read
    const { address, port } = host.target
    const through = host.says.proxyCommand ? ' by its ProxyCommand' : hops.map((hop) => ` through ${hop.target.host}`)
    step.detail([`${address}:${port}`, through].flat().join(''))
    this.#dial = await this.#open(AbortSignal.any([this.#entering.task.signal, this.#stop.signal]))
    await this.#dial.shown
    return this
  }

  async checkKey(step: Pick<StepContext, 'detail'>): Promise<Door> {
    this.#step = step
    this.#judging.resolve()
    const key = await this.#dial!.trusted
    const filed = [...this.#keys.values()].find((one) => one.key.fingerprint === key.fingerprint)
    step.detail(filed ? acceptedWords(filed.key) : `${key.type} ${key.fingerprint}`)
    return this
  }

  async signIn(step: Pick<StepContext, 'detail'>): Promise<Entrance> {
    const { deps, tenant, read, way } = this.#entering
    const { target } = read.host
    step.detail(loginOf(target))
    const connection = await this.#dial!.signedIn
    const how = this.#dial!.how()
    step.detail(`${loginOf(target)}${how ? ` by ${how}` : ''}`)
    const learnt = this.#dial!.learnt()
    return {
      connection,
      login: loginOf(target),
      secrets: { ...givenSecrets(way), ...takeLearnt(deps, tenant, read, learnt) },
      ...(learnt.keep ? { keep: learnt.keep } : {}),
      hostKeys: this.#filed(connection),
      ssh: { ...rowOf(this.#entering), client: 'openssh', clientDetail: this.#detail, typed: read.typed },
      again: async (signal) => (await this.#open(signal)).signedIn,
    }
  }

  leave(): void {
    this.#stop.abort(new Fault('app/cancelled', 'cancelled'))
  }

  #open(signal: AbortSignal): Promise<OpensshDial> {
    const { deps, tenant, way, read, task } = this.#entering
    return dialByOpenssh(deps, {
      tenant,
      name: read.host.target.host,
      way: read,
      typed: read.typed,
      secrets: givenSecrets(way),
      ask: task.ask.bind(task),
      judge: (place, key, presented) => this.#judge(place, key, presented),
      signal,
    })
  }

  async #judge(place: KeyPlace, key: HostKey, presented: Buffer): Promise<KeyJudgement> {
    await this.#judging.promise
    const { deps, read, way, task } = this.#entering
    const { host, port } = knownAs(place)
    const name = `${host} ${port}`
    if (this.#keys.get(name)?.key.fingerprint === key.fingerprint) return { print: true }
    this.#step.detail(`${key.type} ${key.fingerprint}`)
    const trust = await readTrust(place, deps.hostKeys)
    const isTarget = place.host === read.host.target.host
    const accept = isTarget ? (way.acceptHostKey ?? '') : ''
    const verdict = trust.judge({ blob: presented })
    const accepted = await judgeShownKey({ host: place.host, key, verdict, accept }, task)
    this.#keys.set(name, { host, port, key: accepted })
    return { print: accepted.how === 'accepted' || trust.own.some(({ blob }) => blob.equals(key.blob)) }
  }

  /** The host's own last. */
  #filed({ hostKey }: SshConnection): FiledKey[] {
    const { host, port } = knownAs(this.#entering.read.host.target)
    const own = this.#keys.get(`${host} ${port}`) ?? { host, port, key: { ...hostKey, how: 'known-hosts' as const } }
    return [...[...this.#keys.values()].filter((filed) => filed !== own), own]
  }
}
