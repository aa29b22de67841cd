import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HostAccess, thisHost } from '../../src/agent/install/host-access.ts'
import { install } from '../../src/agent/install/install.ts'
import { uninstall } from '../../src/agent/install/uninstall.ts'
import { within } from '../../src/agent/rpc/deadlines.ts'
import { askStatus } from '../../src/agent/status/agent-status.ts'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { Session } from './agent-process.ts'
import type { AgentVariant } from './agent-variant.ts'
import { runProgram } from './run-program.ts'

/** A built agent installed for one login in a home of its own, which nothing but this test starts again. */
export class InstalledAgent implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), 'eitri-installed-'))
  readonly stateDir = join(this.home, '.local/state/eitri')
  readonly socketPath = join(this.stateDir, 'run/agent.sock')
  readonly link = join(this.home, '.local/bin/eitri-agent')
  readonly libDir = join(this.home, '.local/lib/eitri')
  readonly #host: HostAccess

  private constructor() {
    const here = thisHost()
    this.#host = { ...here, login: { ...here.login, home: this.home }, init: 'none', cronRuns: async () => false }
    process.env['EITRI_GUEST_NETWORK'] = 'user'
  }

  static async install({ version, bytes, digest }: AgentVariant): Promise<InstalledAgent> {
    const agent = new InstalledAgent()
    const file = join(agent.home, 'agent.cjs')
    writeFileSync(file, bytes)
    const program = { kind: 'bundle', file, node: process.execPath } as const
    await install({ host: agent.#host, program, version, digest, user: true, start: true })
    return agent
  }

  /** As the control plane does with an agent that nothing watches. */
  async startAgain(): Promise<void> {
    const args = ['start', '--state-dir', this.stateDir, '--socket', this.socketPath]
    await runProgram(this.link, args, { timeoutMs: 40_000 })
  }

  async pid(): Promise<number> {
    const answer = await askStatus(this.socketPath)
    if (!answer.running) throw new Error(`no agent answers: ${answer.reason}`)
    return answer.status.pid
  }

  /** What the link leads to, below the folder of versions. */
  get linked(): string {
    return readlinkSync(this.link).slice(this.libDir.length + 1)
  }

  get versions(): string[] {
    return readdirSync(this.libDir).sort()
  }

  /** Attaches again and again, as a control plane does, until an agent of this version has Hello. */
  async attach(version: string, signal: AbortSignal): Promise<Session> {
    for (;;) {
      signal.throwIfAborted()
      const session = await within(5_000, Session.open(this.socketPath)).catch(() => undefined)
      if (session?.hello.agentVersion === version) return session
      session?.[Symbol.dispose]()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** Attached to whichever agent says that the upgrade ended so; sessions may end in between. */
  async settled(state: string, signal: AbortSignal): Promise<{ session: Session; report: Report }> {
    for (;;) {
      signal.throwIfAborted()
      const session = await Session.open(this.socketPath).catch(() => undefined)
      const report = await session?.report((r) => r.upgrade?.state === state).catch(() => undefined)
      if (session && report) return { session, report }
      session?.[Symbol.dispose]()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  hypervisors(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => isGuestBelow(pid, join(this.stateDir, 'vms')))
      .map(Number)
  }

  log(): string {
    const read = (name: string) => {
      try {
        return readFileSync(join(this.stateDir, name), 'utf8')
      } catch {
        return ''
      }
    }
    return `${read('agent.log')}\n${read('upgrade.log')}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await uninstall({ host: this.#host, user: true }).catch(() => {})
    // Not before: an agent that still runs would start its guest again.
    for (const pid of this.hypervisors()) process.kill(pid, 'SIGKILL')
    rmSync(this.home, { recursive: true, force: true, maxRetries: 3 })
  }
}

function isGuestBelow(pid: string, dir: string): boolean {
  try {
    return (
      readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('qemu') && readlinkSync(`/proc/${pid}/cwd`).startsWith(dir)
    )
  } catch {
    return false
  }
}
