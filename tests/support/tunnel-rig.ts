import { connect } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { PORT_LIMITS } from '../../src/agent/exposures/limits.ts'
import { Reach } from '../../src/agent/exposures/reach.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { Fault } from '../../src/ipc/faults.ts'
import { runTunnel } from '../../src/main/cli/tunnel-client.ts'
import { createApiHandler, listenOnSocket } from '../../src/main/control/api/server.ts'
import type { ActiveSession } from '../../src/main/control/hosts/agent-connection.ts'
import { type AgentLink, openAgentLink } from '../../src/main/control/hosts/agent-link.ts'
import { type TunnelEndpoint, tunnelEndpoint } from '../../src/main/control/tunnels/tunnel-endpoint.ts'
import {
  TUNNELS,
  type TunnelLimits,
  TunnelPlaces,
  type TunnelVm,
} from '../../src/main/control/tunnels/tunnel-places.ts'
import { attached, VM, type WireRig, wireRig } from './agent-wire.ts'

const OTHERS = 'c'.repeat(32)

/** The API's tunnels over a real agent's wire, to a guest that is a program here: VM "web" of tenant default, "vault" of lab. */
export class TunnelRig implements AsyncDisposable {
  readonly held: string[] = []
  holdFails: Fault | undefined
  reachable = true
  online = true
  readonly link: AgentLink
  readonly endpoint: TunnelEndpoint
  readonly apiSocket: string
  readonly #wire: WireRig
  readonly #end: () => Promise<void>

  private constructor(
    wire: WireRig,
    link: AgentLink,
    endpoint: TunnelEndpoint,
    apiSocket: string,
    end: () => Promise<void>,
  ) {
    this.#wire = wire
    this.link = link
    this.endpoint = endpoint
    this.apiSocket = apiSocket
    this.#end = end
  }

  static async open(limits: Partial<TunnelLimits> = {}): Promise<TunnelRig> {
    let rig: TunnelRig | undefined
    const reach = new Reach({ run: () => '1', address: () => (rig?.reachable ? '127.0.0.1' : '') })
    const wire = await wireRig({ guests: { target: reach.target.bind(reach), limits: PORT_LIMITS } })
    const duplex = connect(wire.socketPath)
    const names = { host: 'rack', hostKeyFingerprint: '', carrier: 'unix' as const }
    const link = openAgentLink({ duplex, ...names, rxBytes: () => duplex.bytesRead, clock: systemClock, onClose() {} })
    const { hello, sessionId } = await attached(link.client)
    const session: ActiveSession = { hostId: 'rack', sessionId, connection: link, hello }
    const vms: (TunnelVm & { tenant: string })[] = [
      { id: VM, name: 'web', tenant: 'default', hostId: 'rack', hostName: 'rack' },
      { id: OTHERS, name: 'vault', tenant: 'lab', hostId: 'rack', hostName: 'rack' },
    ]
    const endpoint = tunnelEndpoint({
      vmOf(tenant, ref) {
        const vm = vms.find((vm) => vm.tenant === tenant && (vm.name === ref || vm.id === ref))
        if (!vm) throw new Fault('vm/not-found', 'permanent', { vm: ref })
        return vm
      },
      sessions: { active: () => (rig?.online ? session : undefined) },
      async holdLogin(vm, login) {
        if (rig!.holdFails) throw rig!.holdFails
        rig!.held.push(`${login}@${vm.name}`)
        return () => rig!.held.splice(rig!.held.indexOf(`${login}@${vm.name}`), 1)
      },
      places: new TunnelPlaces({ ...TUNNELS, ...limits }),
      log: silentLog,
    })
    const handler = createApiHandler({
      routes() {},
      tenants: { has: (name) => ['default', 'lab'].includes(name) },
      audit: { add() {} },
      store: { damage: undefined },
      console: { upgrade() {} },
      tunnel: endpoint,
      renderer: undefined,
      log: silentLog,
    })
    const apiSocket = join(wire.dir, 'api.sock')
    const server = await listenOnSocket(apiSocket, handler)
    rig = new TunnelRig(wire, link, endpoint, apiSocket, async () => {
      endpoint.close()
      link.close(new Fault('app/cancelled', 'cancelled'))
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return rig
  }

  get places(): number {
    return this.held.length
  }

  /** A tunnel as the command line has it. */
  tunnel(port: number, { vm = 'web', login = '', tenant, signal }: Asked = {}): Tunnel {
    const input = new PassThrough()
    const output = new PassThrough()
    const ended = Promise.withResolvers<void>()
    const done = runTunnel({
      socketPath: this.apiSocket,
      askAs: { client: 'cli', ...(tenant === undefined ? {} : { tenant }) },
      ...{ vm, port, login, input, output },
      signal: signal ?? new AbortController().signal,
      outputEnded: () => {
        ended.resolve()
        output.end()
      },
    })
    done.catch(() => {})
    return { input, output, done, ended: ended.promise }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end()
    await this.#wire[Symbol.asyncDispose]()
  }
}

export interface Asked {
  vm?: string
  login?: string
  tenant?: string
  signal?: AbortSignal
}

export interface Tunnel {
  input: PassThrough
  output: PassThrough
  done: Promise<void>
  /** The guest ended its side. */
  ended: Promise<void>
}
