import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { controlPaths } from '../../src/main/control/node-ports.ts'
import { openStores } from '../../src/main/control/store/stores.ts'
import { type FleetClient, fleetClient } from '../../src/main/fleet-client.ts'
import { farmHostId, farmVmId } from './agent-farm-main.ts'
import { Desktop } from './eitri.ts'
import { type PrivateSshd, startPrivateSshd } from './private-sshd.ts'
import { aHost, aVm } from './store-rows.ts'

const TICKS_PER_S = 100

export interface FarmSize {
  hosts: number
  vms: number
  /** Between two reports of an agent. */
  tickMs: number
}

/** A control plane process and many agents it reaches through a real sshd, each by a connection of its own. */
export class AgentFarm implements AsyncDisposable {
  readonly size: FarmSize
  readonly desktop = new Desktop()
  readonly #dir = mkdtempSync(join(tmpdir(), 'eitri-farm-'))
  #agents: ChildProcess | undefined
  #sshd: PrivateSshd | undefined

  private constructor(size: FarmSize) {
    this.size = size
  }

  /** Agents and sshd run, the store knows them; the control plane is not started. */
  static async open(size: FarmSize): Promise<AgentFarm> {
    const farm = new AgentFarm(size)
    try {
      await farm.#prepare()
      return farm
    } catch (error) {
      await farm[Symbol.asyncDispose]()
      throw error
    }
  }

  get client(): FleetClient {
    return fleetClient(this.desktop.apiSocket)
  }

  get sshd(): PrivateSshd {
    if (!this.#sshd) throw new Error('the farm is not open')
    return this.#sshd
  }

  /** Starts the control plane; ms until every host is connected and every VM reported. */
  async connect(deadlineMs: number): Promise<number> {
    const start = performance.now()
    await this.desktop.start()
    for (;;) {
      const { hosts } = await this.client.hosts.listHosts({})
      const up = hosts.filter(({ link, lastSeenAgeMs }) => link === 'connected' && lastSeenAgeMs !== undefined).length
      if (up === this.size.hosts) break
      if (performance.now() - start > deadlineMs) throw new Error(`${up} hosts after ${deadlineMs} ms`)
      await delay(500)
    }
    const took = performance.now() - start
    const { vms } = await this.client.vms.listVms({})
    const running = vms.filter(({ power }) => power === 'running').length
    if (running !== this.size.hosts * this.size.vms) throw new Error(`${running} VMs are reported as running`)
    return took
  }

  /** CPU time the control plane took so far, ms. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.desktop.pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_S
  }

  /** Resident memory of the control plane, MB. */
  rssMb(): number {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.desktop.pid}/status`, 'utf8'))?.[1]) / 1024
  }

  /** What a write to the database would change, seen from outside. */
  stored(): string {
    const { database } = controlPaths({ dataDir: this.desktop.dataDir, env: this.desktop.env })
    return [database, `${database}-wal`]
      .map((file) => statSync(file, { throwIfNoEntry: false }))
      .map((stat) => `${stat?.size} ${stat?.mtimeMs}`)
      .join(', ')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.desktop.close()
    if (this.#agents?.exitCode === null) {
      const gone = once(this.#agents, 'exit')
      this.#agents.kill('SIGKILL')
      await gone
    }
    await this.#sshd?.close()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async #prepare(): Promise<void> {
    const { hosts, vms, tickMs } = this.size
    this.#sshd = await startPrivateSshd(['MaxStartups 400', 'MaxSessions 10'])
    const main = join(import.meta.dirname, 'agent-farm-main.ts')
    this.#agents = spawn(process.execPath, [main, this.#dir, `${hosts}`, `${vms}`, `${tickMs}`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = await once(createInterface({ input: this.#agents.stdout! }), 'line')
    const agents = JSON.parse(String(line)) as { socketPath: string; identityPublicKey: string }[]
    const { port, keyFile, hostKey, user } = this.#sshd
    const { type, blob, fingerprint } = hostKey
    writeFileSync(
      join(this.desktop.home, '.ssh/known_hosts'),
      `[127.0.0.1]:${port} ${type} ${blob.toString('base64')}\n`,
    )
    const { database } = controlPaths({ dataDir: this.desktop.dataDir, env: this.desktop.env })
    const stores = openStores(database, systemClock)
    stores.db.transaction(() => {
      for (const [host, agent] of agents.entries()) {
        stores.hosts.create(
          aHost({
            ...{ id: farmHostId(host), name: `farm-${host}`, kind: 'ssh', hostKeyFingerprint: fingerprint },
            ssh: { ...{ host: '127.0.0.1', hostname: '127.0.0.1', port, user, identityFile: keyFile, useSudo: false } },
            agent: { ...agent, executable: '', stateDir: this.#dir, runsAs: 'root', startedBy: 'systemd' },
          }),
        )
        for (let vm = 0; vm < vms; vm++)
          stores.vms.create(aVm(farmHostId(host), { id: farmVmId(host, vm), name: `vm-${host}-${vm}` }))
      }
    })
    stores.db.close()
  }
}
