import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { runCli } from '../../src/main/cli/cli.ts'
import { type ControlPlane, createControlPlane } from '../../src/main/control/control-plane.ts'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import type { ControlPaths } from '../../src/main/control/ports.ts'
import { restoreStore } from '../../src/main/control/restore-store.ts'
import { openStores, type Stores } from '../../src/main/control/store/stores.ts'
import { type FleetClient, fleetClient } from '../../src/main/fleet-client.ts'
import { FakeTerminal } from './fake-terminal.ts'
import type { LiveAgent } from './live-agent.ts'
import { aHost } from './store-rows.ts'

/** A real control plane of a data folder of its own: stopped, changed on disk and started as a test likes. */
export class Desk implements AsyncDisposable {
  readonly name: string
  readonly paths: ControlPaths
  readonly #dir: string
  #control: ControlPlane | undefined

  /** Makes the folder only. */
  constructor(name = 'desk', parent: string = tmpdir()) {
    this.name = name
    this.#dir = mkdtempSync(join(parent, 'eitri-desk-'))
    this.paths = {
      ...controlPaths({ dataDir: join(this.#dir, 'data'), env: { HOME: this.#dir } }),
      renderer: undefined,
    }
  }

  get client(): FleetClient {
    return fleetClient(this.paths.apiSocket)
  }

  get database(): string {
    return this.paths.database
  }

  /** What is in the store's file, while no control plane has it open. */
  stored<T>(look: (stores: Stores) => T): T {
    const stores = openStores(this.database, systemClock)
    try {
      return look(stores)
    } finally {
      stores.db.close()
    }
  }

  /** Puts a host's row into the store, as an onboarding would; its id. */
  host(agent: LiveAgent, name: string): string {
    const { socketPath, identityPublicKey, stateDir } = agent
    const host = aHost({
      name,
      agent: { socketPath, identityPublicKey, executable: '', stateDir, runsAs: 'root', startedBy: 'systemd' },
    })
    return this.stored(({ hosts }) => hosts.create(host).id)
  }

  async start(): Promise<this> {
    this.#control = createControlPlane({
      ...{ clock: systemClock, log: silentLog, paths: this.paths, env: { HOME: this.#dir }, version: '0.1.0-test' },
      ...{ platform: 'linux', arch: 'x64', controllerName: this.name },
    })
    await this.#control.start()
    return this
  }

  async stop(): Promise<void> {
    const control = this.#control
    this.#control = undefined
    await control?.stop()
  }

  /** The data folder as it is now, for another control plane of the same fleet, or for later. */
  copyTo(dir: string): void {
    mkdirSync(dirname(dir), { recursive: true })
    rmSync(dir, { recursive: true, force: true })
    cpSync(this.paths.dataDir, dir, { recursive: true, filter: (path) => !path.includes('/run') })
  }

  async vm(name: string, power = 'running'): Promise<string> {
    const image = { imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) }
    return (await this.client.vms.createVm({ name, power, ...image })).vm?.id ?? ''
  }

  /** The command line, as a person types it. */
  async eitri(...argv: string[]) {
    const io = new FakeTerminal()
    io.stdin.end()
    const code = await runCli(argv, {
      ...{ io, now: () => Date.now(), apiSocket: () => this.paths.apiSocket },
      embed: async () => ({ async stop() {} }),
      async serve() {},
      restore: async (_, file) => restoreStore(file, this.paths, Date.now()),
    })
    return { code, out: io.out, err: io.err, json: () => JSON.parse(io.out) as any }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}
