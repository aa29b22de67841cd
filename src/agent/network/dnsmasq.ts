import type { Clock } from '../../ipc/base/clock.ts'
import { Fault } from '../../ipc/faults.ts'
import type { Detach } from '../os/exec.ts'
import { readIfPresent, readTail, writeDurable } from '../os/files.ts'
import type { Processes, ProcessIdentity } from '../os/process.ts'
import { hostsText, keptLeases, type Reservation } from './dnsmasq-config.ts'
import type { NetworkPlace } from './network-place.ts'

const DNSMASQ = 'dnsmasq'
/** It serves within this once started, and is gone within this once told to end. */
const START_MS = 5_000
const END_MS = 2_000
const POLL_MS = 20
const LOG_TAIL_BYTES = 4096
/** Hosts and configuration are read by a process that is not root. */
const READABLE = 0o644

export interface DnsmasqDeps {
  place: NetworkPlace
  config: string
  detach: Detach
  processes: Processes
  clock: Clock
}

/** One dnsmasq as a detached process: it outlives the agent, and a later agent finds it by its configuration file. */
export class Dnsmasq {
  readonly #deps: DnsmasqDeps

  constructor(deps: DnsmasqDeps) {
    this.#deps = deps
  }

  /**
   * It runs with exactly these reservations when it resolves, and with no lease of anybody else. One that runs already
   * is told. Raises `vmm/failed` with why it does not start.
   */
  async serve(reservations: Iterable<Reservation>): Promise<void> {
    const { place, config } = this.#deps
    const all = [...reservations]
    const hosts = hostsText(all)
    const changed = (await textOf(place.hosts)) !== hosts
    if (changed) await writeDurable('network.hosts', place.hosts, hosts, READABLE)
    const running = await this.#find()
    const leases = await textOf(place.leases)
    const kept = keptLeases(leases, all)
    const same = (await textOf(place.config)) === config
    if (running && same && kept === leases) {
      if (changed) await this.reload()
      return
    }
    await endDnsmasq(this.#deps)
    if (kept !== leases) await writeDurable('network.leases', place.leases, kept)
    if (!same) await writeDurable('network.config', place.config, config, READABLE)
    await this.#start()
  }

  /** Reads the reservations again: an earlier life may have written them and died. */
  async reload(): Promise<void> {
    const running = await this.#find()
    if (running) this.#deps.processes.signal('network.reload', running, 'SIGHUP')
  }

  async #start(): Promise<void> {
    const { place, detach, processes, clock } = this.#deps
    const argv = ['--keep-in-foreground', argumentOf(place)]
    const pid = await detach('network.dnsmasq', DNSMASQ, argv, { cwd: '/', logFile: place.log })
    const identity = processes.identify(pid)
    // It writes the file once all it listens on is open.
    const serves = async () => (await textOf(place.pidfile)).trim() === String(pid)
    const settled = async () => !identity || !processes.alive(identity) || (await serves())
    await until(clock, settled, START_MS)
    if (identity && processes.alive(identity) && (await serves())) return
    await endDnsmasq(this.#deps)
    const said = (await readTail(place.log, LOG_TAIL_BYTES)).toString('utf8').trim().split('\n').at(-1) ?? ''
    const detail = said.replace(/^dnsmasq: /, '').slice(0, 200) || 'it ended at once'
    throw new Fault('vmm/failed', 'transient', { detail: `dnsmasq: ${detail}` })
  }

  /** Not a child of it, which answers one guest over TCP, hears no signal and lives on without it. */
  async #find(): Promise<ProcessIdentity | undefined> {
    const { place, processes } = this.#deps
    const written = (await textOf(place.pidfile)).trim()
    const pid = pidsOf(this.#deps).find((one) => String(one) === written)
    return pid === undefined ? undefined : processes.identify(pid)
  }
}

type Found = Pick<DnsmasqDeps, 'place' | 'processes'>

const argumentOf = (place: NetworkPlace): string => `--conf-file=${place.config}`

/** It works in the root directory, whoever started it where; with its children. */
const pidsOf = ({ place, processes }: Found): number[] => processes.pidsIn?.('/', argumentOf(place)) ?? []

function find(found: Found): ProcessIdentity | undefined {
  const [pid] = pidsOf(found)
  return pid === undefined ? undefined : found.processes.identify(pid)
}

/** None of this place runs when it resolves; true = one did. Raises `vmm/failed` for one that does not end. */
export async function endDnsmasq(deps: Found & Pick<DnsmasqDeps, 'clock'>): Promise<boolean> {
  const { processes, clock } = deps
  let ended = false
  for (let one = find(deps); one; one = find(deps)) {
    const identity = one
    const gone = () => !processes.alive(identity)
    processes.signal('network.end', identity, 'SIGTERM')
    if (!(await until(clock, gone, END_MS))) processes.signal('network.kill', identity, 'SIGKILL')
    if (!(await until(clock, gone, END_MS)))
      throw new Fault('vmm/failed', 'transient', { detail: `dnsmasq (process ${identity.pid}) does not end` })
    ended = true
  }
  return ended
}

const textOf = async (path: string): Promise<string> => (await readIfPresent(path))?.toString('utf8') ?? ''

async function until(clock: Clock, done: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  const deadline = clock.monotonic() + ms
  while (!(await done())) {
    if (clock.monotonic() > deadline) return false
    await clock.sleep(POLL_MS)
  }
  return true
}
