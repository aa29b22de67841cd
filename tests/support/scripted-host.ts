import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { silentLog } from '../../src/ipc/base/log.ts'
import { runCli } from '../../src/main/cli/cli.ts'
import { type ControlPlane, createControlPlane } from '../../src/main/control/control-plane.ts'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import { openStores, type Stores } from '../../src/main/control/store/stores.ts'
import { type FleetClient, fleetClient } from '../../src/main/fleet-client.ts'
import { FakeSyncAgent } from './fake-sync-agent.ts'
import { FakeTerminal } from './fake-terminal.ts'

export const HOST = 'a'.repeat(32)

/** Below the folder of a scripted host: agents other than the built ones. */
export const ARTEFACTS = 'artefacts'

const pathsIn = (dir: string) => ({
  ...controlPaths({ dataDir: join(dir, 'data'), env: { HOME: dir } }),
  renderer: undefined,
  ...(existsSync(join(dir, ARTEFACTS)) ? { agentArtefacts: join(dir, ARTEFACTS) } : {}),
})

/** A real control plane with its API and command line, and one host, "rack", whose agent says what it is told to say. */
export class ScriptedHost implements AsyncDisposable {
  readonly agent: FakeSyncAgent
  readonly client: FleetClient
  /** The file of the control plane's store. */
  readonly database: string
  readonly #dir: string
  readonly #control: ControlPlane
  readonly apiSocket: string
  /** Of the control plane, for a command line of its own process. */
  readonly dataDir: string

  private constructor(dir: string, database: string, agent: FakeSyncAgent, control: ControlPlane, apiSocket: string) {
    this.#dir = dir
    this.dataDir = join(dir, 'data')
    this.database = database
    this.agent = agent
    this.#control = control
    this.apiSocket = apiSocket
    this.client = fleetClient(apiSocket)
  }

  /** The agent is attached when it resolves; `sow` writes into the store, and its folder, before the control plane opens it. */
  static async open(sow: (stores: Stores, dir: string) => void = () => {}): Promise<ScriptedHost> {
    const dir = mkdtempSync(join(tmpdir(), 'eitri-scripted-'))
    const agent = await FakeSyncAgent.start()
    const paths = pathsIn(dir)
    const stores = openStores(paths.database, systemClock)
    const { socketPath, identityPublicKey } = agent
    stores.hosts.create({
      ...{ id: HOST, tenant: 'default', name: 'rack', kind: 'local', ssh: null, hostKeyFingerprint: '', facts: null },
      agent: {
        ...{ socketPath, identityPublicKey, executable: '', stateDir: agent.dir, runsAs: 'root', startedBy: 'systemd' },
      },
    })
    sow(stores, dir)
    stores.db.close()
    return await ScriptedHost.#started(dir, agent)
  }

  static async #started(dir: string, agent: FakeSyncAgent): Promise<ScriptedHost> {
    const paths = pathsIn(dir)
    const control = createControlPlane({
      ...{ clock: systemClock, log: silentLog, paths, env: { HOME: dir }, version: '0.1.0-test' },
      ...{ platform: 'linux', arch: 'x64', controllerName: 'test' },
    })
    await control.start()
    await vi.waitFor(() => expect(agent.attached).toBe(1), { timeout: 5_000 })
    return new ScriptedHost(dir, paths.database, agent, control, paths.apiSocket)
  }

  /** The control plane stopped and started again on the same data folder, `meanwhile` in between; take this one for the old. */
  async restart(meanwhile: () => void = () => {}): Promise<ScriptedHost> {
    await this.#control.stop()
    meanwhile()
    return await ScriptedHost.#started(this.#dir, this.agent)
  }

  /** A VM the host is told of; its id. */
  async vm(name: string): Promise<string> {
    const image = { imageUrl: 'https://images.example.test/a.qcow2', imageSha256: 'd'.repeat(64) }
    return (await this.client.vms.createVm({ name, ...image })).vm?.id ?? ''
  }

  /** The command line, as a person types it. */
  async eitri(...argv: string[]) {
    return await this.eitriWith('', ...argv)
  }

  /** The same with something on standard input. */
  async eitriWith(stdin: string, ...argv: string[]) {
    const io = new FakeTerminal()
    io.stdin.end(stdin)
    const code = await runCli(argv, {
      ...{ io, now: () => Date.now(), apiSocket: () => this.apiSocket },
      embed: async () => ({ async stop() {} }),
      async serve() {},
    })
    return { code, out: io.out, err: io.err, json: () => JSON.parse(io.out) as any }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#control.stop()
    await this.agent.stop()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}
