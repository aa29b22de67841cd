import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Clock } from '../../ipc/base/clock.ts'
import type { Log } from '../../ipc/base/log.ts'
import { type GuestState, GuestStateSchema } from '../../ipc/gen/eitri/agent/v1/guest_pb.js'
import { KiB, MiB } from '../../ipc/units.ts'
import { readIfPresent, readTail } from '../os/files.ts'
import type { VmLayout } from '../records/layout.ts'
import { PAYLOAD_REPORT } from '../seed/fleet-payload.ts'
import {
  CLOUD_INIT_FILES,
  type CloudInitVerdict,
  cloudInitVerdict,
  filesIn,
  refusedVendorData,
} from './cloud-init-verdict.ts'
import { type GuestAgent, GuestAgentError } from './guest-agent.ts'
import type { RunningGuest } from './guest-rounds.ts'
import { type PayloadVerdict, payloadOnConsole, payloadVerdict, seedLeavesWord } from './payload-verdict.ts'

/** While cloud-init is at work, and once it has ended. */
const OFTEN_MS = 5_000
const RARELY_MS = 300_000
/** Read of each file, and of the end of cloud-init's log, bytes. */
const FILE_BYTES = 64 * KiB
const LOG_BYTES = 256 * KiB
const CONSOLE_BYTES = 256 * KiB
const SEED_BYTES = 4 * MiB

const FILES = [...Object.values(CLOUD_INIT_FILES), PAYLOAD_REPORT]
const LOG = '/var/log/cloud-init.log'

interface Entry {
  agent: 'answering' | 'silent'
  version: string
  cloudInit: CloudInitVerdict
  payload: PayloadVerdict
  /** Wall clock, ms. */
  asOf: number
  /** Monotonic ms. */
  nextAt: number
  /** Undefined = not looked yet. */
  leavesWord: boolean | undefined
  reading: boolean
}

export interface GuestStatesDeps {
  clock: Clock
  log: Log
  /** A guest says something else than before. */
  onChange(): void
}

type AskedAgent = Pick<GuestAgent, 'version' | 'exec'>

/** What each running guest says of itself: whether anything answers, how cloud-init went, what the fleet's part did. */
export class GuestStates {
  readonly #deps: GuestStatesDeps
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry>()

  constructor(deps: GuestStatesDeps) {
    this.#deps = deps
    this.#clock = deps.clock
  }

  /** Asks what is due. Raises GuestAgentError when the guest does not answer. */
  async visit(guest: RunningGuest, agent: AskedAgent, signal: AbortSignal): Promise<void> {
    const entry = this.#entry(guest.id)
    if (entry.agent === 'silent') entry.nextAt = 0
    if (this.#clock.monotonic() < entry.nextAt) return
    const before = wordsOf(entry)
    entry.agent = 'answering'
    if (entry.version === '') entry.version = await agent.version(signal)
    try {
      await this.#ask(guest, entry, agent, signal)
    } catch (error) {
      if (!(error instanceof GuestAgentError && error.trouble === 'refused')) throw error
      await this.#readConsole(guest, entry)
    }
    entry.asOf = this.#clock.now()
    entry.nextAt = this.#clock.monotonic() + (isOver(entry) ? RARELY_MS : OFTEN_MS)
    if (wordsOf(entry) !== before) this.#deps.onChange()
  }

  /** Nothing in the guest answers; what it said before stays as far as it cannot have changed. */
  silent(guest: RunningGuest): void {
    const entry = this.#entry(guest.id)
    const before = wordsOf(entry)
    entry.agent = 'silent'
    entry.asOf = this.#clock.now()
    void this.#readConsole(guest, entry).then(() => {
      if (wordsOf(entry) !== before) this.#deps.onChange()
    })
  }

  forget(vmId: string): void {
    this.#entries.delete(vmId)
  }

  /** ms until it wants to ask again; undefined = no hurry. */
  wantsIn(vmId: string): number | undefined {
    const entry = this.#entries.get(vmId)
    if (!entry || entry.agent === 'silent' || isOver(entry)) return undefined
    return Math.max(0, entry.nextAt - this.#clock.monotonic())
  }

  /** Absent = not asked yet. */
  of(vmId: string): GuestState | undefined {
    const entry = this.#entries.get(vmId)
    if (!entry || entry.asOf === 0) return undefined
    return create(GuestStateSchema, {
      guestAgent: entry.agent,
      guestAgentVersion: entry.version,
      cloudInit: entry.cloudInit.state,
      modules: entry.cloudInit.modules,
      fleetPayload: entry.payload.state,
      fleetPayloadDetail: entry.payload.detail,
      asOf: timestampFromMs(entry.asOf),
    })
  }

  async #ask({ id, vm }: RunningGuest, entry: Entry, agent: AskedAgent, signal: AbortSignal): Promise<void> {
    const { stdout } = await agent.exec('head', ['-v', '-c', String(FILE_BYTES), ...FILES], signal)
    const files = filesIn(stdout, FILES)
    const ended = files.has(CLOUD_INIT_FILES.result)
    const log = ended ? (await agent.exec('tail', ['-c', String(LOG_BYTES), LOG], signal)).stdout : ''
    entry.cloudInit = cloudInitVerdict(files, log)
    entry.leavesWord ??= await leavesWord(vm)
    entry.payload = payloadVerdict({
      vmId: id,
      report: files.get(PAYLOAD_REPORT),
      cloudInit: entry.cloudInit.state,
      refused: refusedVendorData(log),
      leavesWord: entry.leavesWord,
    })
  }

  /** A guest nobody can ask may have said on its console how it went; it can lie about itself alone. */
  async #readConsole({ id, vm }: RunningGuest, entry: Entry): Promise<void> {
    if (entry.payload.state !== '' || entry.reading) return
    entry.reading = true
    try {
      entry.payload = payloadOnConsole((await readTail(vm.serialLog, CONSOLE_BYTES)).toString('latin1'), id)
    } catch (error) {
      this.#deps.log.warn('guest.console-unreadable', { vm: id, error: String(error).slice(0, 200) })
    } finally {
      entry.reading = false
    }
  }

  #entry(vmId: string): Entry {
    const known = this.#entries.get(vmId)
    if (known) return known
    const fresh: Entry = {
      agent: 'silent',
      version: '',
      cloudInit: { state: '', modules: [] },
      payload: { state: '', detail: '' },
      asOf: 0,
      nextAt: 0,
      leavesWord: undefined,
      reading: false,
    }
    this.#entries.set(vmId, fresh)
    return fresh
  }
}

/** cloud-init has nothing more to do. One that is installed and says nothing may only be about to begin. */
const isOver = ({ cloudInit: { state } }: Entry): boolean => state !== '' && state !== 'running'

const wordsOf = ({ agent, asOf, cloudInit, payload }: Entry): string =>
  JSON.stringify([agent, asOf === 0, cloudInit, payload])

async function leavesWord({ seed }: VmLayout): Promise<boolean> {
  const bytes = await readIfPresent(seed, SEED_BYTES).catch(() => undefined)
  return bytes !== undefined && seedLeavesWord(bytes)
}
