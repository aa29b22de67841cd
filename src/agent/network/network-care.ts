import { isDeepStrictEqual } from 'node:util'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Log } from '../../ipc/base/log.ts'
import { asFault, Fault } from '../../ipc/faults.ts'
import type { NetworkFindingSchema } from '../../ipc/gen/eitri/agent/v1/network_pb.js'
import type { Run } from '../os/exec.ts'
import { stillDropped } from './filter-findings.ts'
import { judgeNetwork } from './network-findings.ts'
import type { Judged, NetworkLook } from './network-look.ts'
import { applyMend, forgetMends, loadMends, type Mend, type MendFiles, removeMend, saveMends } from './network-mend.ts'

/** An engine that starts anew drops all it did not make: guests wait no longer than this, ms. */
const LOOK_PERIOD_MS = 15_000

export type NetworkFinding = MessageInitShape<typeof NetworkFindingSchema>

export interface NetworkCareDeps {
  /** Undefined = this agent leaves the host's network alone. */
  look(signal?: AbortSignal): Promise<NetworkLook> | undefined
  run: Run
  files: MendFiles
  /** Where mends are kept. */
  path: string
  log: Log
}

/** What keeps guests from their network, and the mends a person asked for; one look or change at a time. */
export class NetworkCare {
  readonly #deps: NetworkCareDeps
  readonly #mends: Map<string, Mend>
  readonly #over = new AbortController()
  readonly #listeners = new Set<() => void>()
  #latest: NetworkFinding[] = []
  #turn: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #said = ''

  private constructor(deps: NetworkCareDeps, mends: readonly Mend[]) {
    this.#deps = deps
    this.#mends = new Map(mends.map((mend) => [mend.id, mend]))
  }

  /** Knows the mends of earlier lives; looks at nothing yet. */
  static async open(deps: NetworkCareDeps): Promise<NetworkCare> {
    return new NetworkCare(deps, await loadMends(deps.files, deps.path, deps.log))
  }

  /** Looks now and then until `stop`, and puts back what of a mend is gone. */
  start(): void {
    void this.tend()
    this.#timer = setInterval(() => void this.tend(), LOOK_PERIOD_MS).unref()
  }

  /** Mends stay. Resolves once nothing runs. Idempotent. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#over.abort()
    await this.#turn
  }

  /** Calls `fn` when a look found something else than the last; returns its stop function. */
  onChange(fn: () => void): () => void {
    this.#listeners.add(fn)
    return () => this.#listeners.delete(fn)
  }

  /** As last looked up. */
  findings(): NetworkFinding[] {
    return this.#latest
  }

  /** Changes nothing. */
  check(): Promise<NetworkFinding[]> {
    return this.#inTurn(() => this.#looked())
  }

  /** One look, and mends that are not in force any more are put back. Never rejects. */
  tend(): Promise<void> {
    return this.#inTurn(async () => {
      const look = await this.#look()
      if (!look) return
      for (const judged of this.#judge(look)) {
        if (!this.#mends.has(judged.id) || inForce(look, judged)) continue
        await applyMend(this.#deps.run, look, judged, this.#over.signal)
        this.#deps.log.info('network.mended-again', { finding: judged.id })
      }
      await this.#looked()
      this.#said = ''
    }).catch((error: unknown) => {
      const { message } = asFault(error)
      if (!this.#over.signal.aborted && message !== this.#said) this.#deps.log.warn('network.not-tended', { message })
      this.#said = message
    })
  }

  /** Idempotent. Raises `network/not-mendable` (permanent) and `network/mend-failed`, with nothing kept. */
  mend(id: string): Promise<NetworkFinding[]> {
    return this.#inTurn(async () => {
      const look = await this.#required(id)
      const judged = this.#judge(look).find((one) => one.id === id)
      const known = this.#mends.get(id)
      if (!judged && known) return await this.#looked()
      if (!judged) throw notMendable(id, 'nothing of that name is wrong with this host now')
      if (judged.mend === '') throw notMendable(id, 'the agent has no mend for it')
      if (known && inForce(look, judged)) return await this.#looked()
      await this.#keep({ id, settings: [...new Set([...(known?.settings ?? []), ...judged.settings])] })
      try {
        await applyMend(this.#deps.run, look, judged, this.#over.signal)
      } catch (error) {
        if (!known) await this.#back(look, judged)
        throw error
      }
      this.#deps.log.info('network.mended', { finding: id })
      return await this.#looked()
    })
  }

  /** Takes a mend back. Idempotent; raises `network/mend-failed`, and the mend stays. */
  undo(id: string): Promise<NetworkFinding[]> {
    return this.#inTurn(async () => {
      const mend = this.#mends.get(id)
      if (mend) {
        await removeMend(this.#deps.run, await this.#required(id), mend, this.#over.signal)
        await this.#drop(id)
        this.#deps.log.info('network.mend-undone', { finding: id })
      }
      return await this.#looked()
    })
  }

  async #looked(): Promise<NetworkFinding[]> {
    const look = await this.#look()
    const found = look ? this.#shown(look) : []
    const changed = !isDeepStrictEqual(found, this.#latest)
    this.#latest = found
    if (changed) for (const fn of this.#listeners) fn()
    return found
  }

  #look(): Promise<NetworkLook | undefined> {
    return Promise.resolve(this.#deps.look(this.#over.signal))
  }

  async #required(id: string): Promise<NetworkLook> {
    const look = await this.#look()
    if (!look) throw notMendable(id, 'this agent leaves the network of its host alone')
    return look
  }

  /** As if no mend were in force. */
  #judge(look: NetworkLook): Judged[] {
    const forwarding = new Map(look.forwarding)
    for (const { settings } of this.#mends.values())
      for (const device of settings) if (forwarding.has(device)) forwarding.set(device, false)
    return judgeNetwork({ ...look, forwarding })
  }

  #shown(look: NetworkLook): NetworkFinding[] {
    const judged = this.#judge(look)
    const idle = [...this.#mends.keys()].filter((id) => !judged.some((one) => one.id === id)).map(unneeded)
    return [
      ...judged.map(({ id, severity, what, effect, rule, mend, ...parts }) => {
        const mended = this.#mends.has(id) && inForce(look, { id, ...parts })
        return { id, severity, what, effect, rule, mend, mended }
      }),
      ...idle,
    ]
  }

  /** After a mend that came half way. */
  async #back(look: NetworkLook, { id, settings }: Judged): Promise<void> {
    const on = new Map([...look.forwarding, ...settings.map((device) => [device, true] as const)])
    await removeMend(this.#deps.run, { ...look, forwarding: on }, { id, settings }).catch(() => {})
    await this.#drop(id)
  }

  async #keep(mend: Mend): Promise<void> {
    this.#mends.set(mend.id, mend)
    await this.#save()
  }

  async #drop(id: string): Promise<void> {
    this.#mends.delete(id)
    await this.#save()
  }

  async #save(): Promise<void> {
    const { files, path } = this.#deps
    if (this.#mends.size === 0) await forgetMends(path)
    else await saveMends(files, path, this.#mends.values())
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(() => {
      this.#over.signal.throwIfAborted()
      return work()
    })
    this.#turn = result.catch(() => {})
    return result
  }
}

const inForce = (look: NetworkLook, { id, rules, settings }: Pick<Judged, 'id' | 'rules' | 'settings'>): boolean =>
  settings.every((device) => look.forwarding.get(device) !== false) && (rules.length === 0 || !stillDropped(look, id))

const unneeded = (id: string): NetworkFinding => ({
  id,
  severity: 'warns',
  what: `Nothing needs the mend of ${id} now.`,
  effect: 'It is kept for when that comes back, as after a start of a container engine.',
  mended: true,
})

const notMendable = (finding: string, detail: string): Fault =>
  new Fault('network/not-mendable', 'permanent', { finding: finding.slice(0, 100), detail })
