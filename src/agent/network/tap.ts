import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Fault } from '../../ipc/faults.ts'
import type { Run, RunResult } from '../os/exec.ts'
import { ask, dispositionOf, isNoDevice, lastWords } from './command.ts'

/** An interface name holds 15 characters. */
const NAME_LENGTH = 15

/**
 * The host's end of a guest's NIC, a function of the VM id alone: `nic` 0 is on the fleet's own network, those after it
 * on networks of the operator, which filters tell apart by the name.
 */
export function tapName(vmId: string, nic = 0): string {
  const prefix = nic === 0 ? 'eitri-' : 'eil-'
  const digest = createHash('sha256').update(`eitri-tap ${vmId} ${nic}`).digest('hex')
  return (prefix + digest).slice(0, NAME_LENGTH)
}

/** The names of all taps a VM may have. */
export const tapNames = (vmId: string): string[] => [tapName(vmId), tapName(vmId, 1)]

/** Whether the agent gave an interface of the fleet's own network this name. */
export const isTapName = (name: string): boolean => /^eitri-[0-9a-f]{9}$/.test(name)

/** Who makes and removes taps. */
export interface Taps {
  /** A tap that lasts, is a port of `bridge` when given, and is up. Idempotent; raises `vmm/failed`, permanent where it is not permitted. */
  ensure(name: string, signal: AbortSignal, bridge?: string): Promise<void>
  /** Idempotent; resolving promises that there is none of the name. Raises `vmm/failed`. */
  remove(name: string): Promise<void>
}

const Links = z.array(
  z.looseObject({
    flags: z.array(z.string()),
    master: z.string().optional(),
    linkinfo: z.looseObject({ info_data: z.looseObject({ type: z.string().optional() }).optional() }).optional(),
  }),
)

/** Taps by the `ip` program. */
export class IpTaps implements Taps {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  async ensure(name: string, signal: AbortSignal, bridge = ''): Promise<void> {
    const found = await this.#look(name, signal)
    if (found === undefined) check('ip tuntap add', await ask(this.#run, 'tap.make', ['ip', ...addArgv(name)], signal))
    else if (found.linkinfo?.info_data?.type !== 'tap')
      throw new Fault('vmm/failed', 'permanent', { detail: `the interface ${name} of this host is no tap` })
    if (bridge !== '' && found?.master !== bridge)
      check('ip link set', await ask(this.#run, 'tap.join', ['ip', ...joinArgv(name, bridge)], signal))
    if (!found?.flags.includes('UP'))
      check('ip link set', await ask(this.#run, 'tap.up', ['ip', ...upArgv(name)], signal))
  }

  async remove(name: string): Promise<void> {
    const result = await ask(this.#run, 'tap.remove', ['ip', 'link', 'delete', 'dev', name])
    if (result.code !== 0 && !isNoDevice(result)) check('ip link delete', result)
  }

  async #look(name: string, signal: AbortSignal): Promise<z.infer<typeof Links>[number] | undefined> {
    const result = await ask(this.#run, 'tap.ask', ['ip', '-json', '-details', 'link', 'show', 'dev', name], signal)
    if (isNoDevice(result)) return undefined
    check('ip link show', result)
    return Links.parse(JSON.parse(result.stdout))[0]
  }
}

export const addArgv = (name: string): string[] => ['tuntap', 'add', 'dev', name, 'mode', 'tap', 'vnet_hdr']
export const joinArgv = (name: string, bridge: string): string[] => ['link', 'set', 'dev', name, 'master', bridge]
export const upArgv = (name: string): string[] => ['link', 'set', 'dev', name, 'up']

function check(asked: string, result: RunResult): void {
  if (result.code === 0) return
  throw new Fault('vmm/failed', dispositionOf(result), { detail: `${asked}: ${lastWords(result)}` })
}
