import { z } from 'zod'
import { Fault } from '../../ipc/faults.ts'
import type { Run } from '../os/exec.ts'
import { ask, isNoDevice, lastWords, must } from './command.ts'
import { macOf } from './mac.ts'
import { joinArgv } from './tap.ts'

const Links = z.array(
  z.looseObject({
    flags: z.array(z.string()),
    linkinfo: z.looseObject({ info_kind: z.string().optional() }).optional(),
    addr_info: z.array(z.looseObject({ family: z.string(), local: z.string().optional(), prefixlen: z.number() })),
  }),
)

const Taps = z.array(z.looseObject({ ifname: z.string(), master: z.string().optional() }))

/** The bridge of the guests' own network, by the `ip` program. */
export class GuestBridge {
  readonly name: string
  /** An address of its own: without, it would have that of its oldest port, and guests would lose it. */
  readonly mac: string
  readonly #address: string
  readonly #run: Run

  /** `address` like 10.77.0.1/24. */
  constructor(name: string, address: string, run: Run) {
    this.name = name
    this.mac = macOf(address)
    this.#address = address
    this.#run = run
  }

  /** There, up and with its one address, whatever was there before. True = it was made now, and has no ports. */
  async ensure(): Promise<boolean> {
    const change = (...args: string[]) => must(this.#run, 'network.bridge', ['ip', ...args])
    const found = await this.#look()
    if (found && found.linkinfo?.info_kind !== 'bridge')
      throw new Fault('vmm/failed', 'permanent', { detail: `the interface ${this.name} of this host is no bridge` })
    if (!found) await change('link', 'add', this.name, 'address', this.mac, 'type', 'bridge', 'forward_delay', '0')
    const own = (found?.addr_info ?? [])
      .filter(({ family, local }) => family === 'inet' && local !== undefined)
      .map(({ local, prefixlen }) => `${local}/${prefixlen}`)
    for (const other of own.filter((address) => address !== this.#address))
      await change('addr', 'delete', other, 'dev', this.name)
    if (!own.includes(this.#address)) await change('addr', 'add', this.#address, 'dev', this.name)
    if (!found?.flags.includes('UP')) await change('link', 'set', 'dev', this.name, 'up')
    return !found
  }

  /** Of these taps, those that are there and no port of any bridge become ports. */
  async join(taps: ReadonlySet<string>): Promise<void> {
    const shown = await must(this.#run, 'network.ask-taps', ['ip', '-json', 'link', 'show', 'type', 'tun'])
    const loose = Taps.parse(JSON.parse(shown.stdout || '[]')).filter(({ master }) => master === undefined)
    for (const { ifname } of loose.filter((one) => taps.has(one.ifname)))
      await ask(this.#run, 'network.join', ['ip', ...joinArgv(ifname, this.name)])
  }

  async #look(): Promise<z.infer<typeof Links>[number] | undefined> {
    const shown = await ask(this.#run, 'network.ask-bridge', ['ip', ...showArgv(this.name)])
    if (isNoDevice(shown)) return undefined
    if (shown.code !== 0) throw new Fault('vmm/failed', 'transient', { detail: `ip addr show: ${lastWords(shown)}` })
    return Links.parse(JSON.parse(shown.stdout))[0]
  }
}

const showArgv = (name: string): string[] => ['-json', '-details', 'addr', 'show', 'dev', name]
