import type { Clock } from '../../ipc/base/clock.ts'
import type { VmSpec } from '../../ipc/gen/eitri/agent/v1/vm_pb.js'
import { AutostartTurns, type AutostartVm, type Waits } from './autostart-turns.ts'
import type { BootTime } from './quarantine-clock.ts'
import type { Wanted } from './vm-plan.ts'
import type { VmResult } from './vm-result.ts'

/** Longest delay that is kept, s; a longer wish means this. */
const MAX_DELAY_S = 3600

export interface AutostartDeps {
  /** What is wanted of every VM, and what is known of it; `recorded` = something of it is on this host. */
  vms(): Iterable<{ wanted: Wanted; result: VmResult | undefined; recorded: boolean }>
  now(): BootTime
  clock: Pick<Clock, 'sleep'>
  /** Its turn may have come. */
  look(vmId: string): void
  signal: AbortSignal
}

/** The VMs this host starts by itself after a boot, in their order: who waits, and who hears that its turn came. */
export class Autostart {
  readonly #deps: AutostartDeps
  readonly #turns = new AutostartTurns()
  readonly #waiting = new Map<string, number>()
  /** Uptime a sleeper waits for, ms. */
  readonly #sleeping = new Map<string, number>()

  constructor(deps: AutostartDeps) {
    this.#deps = deps
  }

  /** Undefined = it may start. */
  waits(spec: VmSpec): Waits | undefined {
    const placed = placeOf(spec)
    // Nobody comes before it.
    if (placed.order === 0 && placed.delayMs === 0) return undefined
    return this.#turns.waits(placed, this.#list(), this.#deps.now())
  }

  /** A result of the VM landed. */
  noted(vmId: string, { waitsForTurn }: VmResult, spec: VmSpec | undefined): void {
    if (!waitsForTurn || !spec) this.#waiting.delete(vmId)
    else this.#waiting.set(vmId, placeOf(spec).order)
    this.#sleepUntil(vmId, waitsForTurn?.untilMs)
    this.#passOn()
  }

  #passOn(): void {
    if (this.#waiting.size === 0) return
    const turn = this.#turns.turn(this.#list(), this.#deps.now())
    for (const [vmId, order] of this.#waiting) if (order <= turn && !this.#sleeping.has(vmId)) this.#deps.look(vmId)
  }

  #sleepUntil(vmId: string, untilMs: number | undefined): void {
    if (untilMs === undefined || this.#sleeping.get(vmId) === untilMs) return
    const { clock, now, look, signal } = this.#deps
    this.#sleeping.set(vmId, untilMs)
    const over = () => {
      if (this.#sleeping.get(vmId) === untilMs) this.#sleeping.delete(vmId)
    }
    clock.sleep(Math.max(1, untilMs - now().uptimeMs), signal).then(
      () => {
        over()
        look(vmId)
      },
      () => over(),
    )
  }

  #list(): AutostartVm[] {
    const list: AutostartVm[] = []
    for (const { wanted, result, recorded } of this.#deps.vms()) {
      if (wanted.kind !== 'live' || wanted.spec.autostart === false || wanted.spec.powerState === 'stopped') continue
      const { vmId, name } = wanted.spec
      list.push({ vmId, name, ...placeOf(wanted.spec), pending: recorded && isPending(result) })
    }
    return list
  }
}

const placeOf = ({ autostartOrder, autostartDelayS }: VmSpec) => ({
  order: autostartOrder,
  delayMs: Math.min(autostartDelayS, MAX_DELAY_S) * 1000,
})

/** Neither up nor failed; one that nobody has looked at yet is. */
function isPending(result: VmResult | undefined): boolean {
  if (!result) return true
  const { row } = result
  return row !== undefined && (row.power ?? 'stopped') === 'stopped' && (row.phase ?? 'ready') === 'ready'
}
