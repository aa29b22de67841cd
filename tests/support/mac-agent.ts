import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeMac } from './fake-vfkit.ts'

const MAIN = new URL('./mac-agent-main.ts', import.meta.url).pathname

/** An agent process on a computer that looks like a Mac to it. */
export class MacAgent implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'eitri-mac-'))
  readonly stateDir = join(this.dir, 'state')
  readonly socketPath = join(this.dir, 'run', 'agent.sock')
  readonly mac = new FakeMac(join(this.dir, 'mac'))
  #child: ChildProcess | undefined
  #died: Promise<unknown> = Promise.resolve()
  stderr = ''

  /** Resolves once it started, or died. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const args = [MAIN, this.stateDir, this.socketPath, this.mac.leases]
    const path = `${this.mac.bin}:${process.env['PATH']}`
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env, PATH: path },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    this.#died = once(child, 'exit')
    this.stderr = ''
    const started = Promise.withResolvers<void>()
    child.stderr.on('data', (text: Buffer) => {
      this.stderr += text
      if (this.stderr.includes('"agent.started"')) started.resolve()
    })
    await Promise.race([started.promise, this.#died])
  }

  /** Resolves when it is dead, however that came. */
  get died(): Promise<unknown> {
    return this.#died
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child?.kill(signal)
    await this.#died
  }

  /** Pids that work in the directories of its VMs: its vfkits. */
  vfkits(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => cwdOf(pid).startsWith(join(this.stateDir, 'vms')))
      .map(Number)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM')
    for (const pid of this.vfkits()) process.kill(pid, 'SIGKILL')
    rmSync(this.dir, { recursive: true, force: true })
  }
}

function cwdOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ') ? '' : readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}
