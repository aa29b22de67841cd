import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, startTimeOf } from './exclusive.ts'
import { mustRun, type ProgramOptions, type ProgramResult, runProgram } from './run-program.ts'

/** The name says whose it is, so that a later run clears it away when this one crashed. */
const NAME = /^eitri-n(\d+)-(\d+)-\d+$/
const END_MS = 5_000
let made = 0
let swept: Promise<void> | undefined

/** Why no network namespace can be made here; undefined = one can. */
export function netNamespaceImpossible(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces need Linux'
  return process.getuid?.() === 0 ? undefined : 'network namespaces need root'
}

/** The network of another machine: processes, files and unix sockets are shared with this side. Nothing is left of it. */
export class NetNamespace implements AsyncDisposable {
  readonly name: string

  private constructor(name: string) {
    this.name = name
  }

  /** With `lo` up and nothing else. */
  static async make(): Promise<NetNamespace> {
    swept ??= sweep()
    await swept
    const space = new NetNamespace(`eitri-n${process.pid}-${startTimeOf(process.pid)}-${++made}`)
    await mustRun('ip', ['netns', 'add', space.name])
    await space.ip('link', 'set', 'lo', 'up')
    // A new one takes this from the machine it is made on.
    await space.must(['sysctl', '-qw', 'net.ipv4.ip_forward=0'])
    return space
  }

  /** One `ip` command in it; gives its stdout. */
  ip(...args: string[]): Promise<string> {
    return mustRun('ip', ['-n', this.name, ...args])
  }

  /** Program and arguments of a command that runs `argv` in it: it becomes the very process. */
  enter(...argv: string[]): string[] {
    return ['ip', 'netns', 'exec', this.name, ...argv]
  }

  run(argv: string[], options?: ProgramOptions): Promise<ProgramResult> {
    const [program, ...args] = this.enter(...argv)
    return runProgram(program!, args, options)
  }

  /** `run` that throws unless the program ends with 0; gives its stdout. */
  must(argv: string[], options?: ProgramOptions): Promise<string> {
    const [program, ...args] = this.enter(...argv)
    return mustRun(program!, args, options)
  }

  /** A program that goes on; it ends with the namespace at the latest. */
  spawn(argv: string[], { env = process.env }: { env?: NodeJS.ProcessEnv } = {}): ChildProcess {
    const [program, ...args] = this.enter(...argv)
    return spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  }

  /** Without a value: asks. */
  async sysctl(key: string, value?: string | number): Promise<string> {
    const path = `/proc/sys/${key.replaceAll('.', '/')}`
    if (value !== undefined) await this.must(['tee', path], { input: String(value) })
    return (await this.must(['cat', path])).trim()
  }

  /** A bridge that is up, with these addresses. */
  async bridge(name: string, ...addresses: string[]): Promise<void> {
    await this.ip('link', 'add', name, 'type', 'bridge', 'forward_delay', '0')
    for (const address of addresses) await this.ip('addr', 'add', address, 'dev', name)
    await this.ip('link', 'set', name, 'up')
  }

  /** A cable from `here` to `there` in another namespace, or this one; both ends are up. */
  async cable(here: CableEnd, other: NetNamespace, there: CableEnd): Promise<void> {
    const peer = ['peer', 'name', there.name, 'netns', other.name]
    await this.ip('link', 'add', here.name, 'type', 'veth', ...peer)
    const ends = [
      { space: this, end: here },
      { space: other, end: there },
    ]
    for (const { space, end } of ends) {
      if (end.mac !== undefined) await space.ip('link', 'set', end.name, 'address', end.mac)
      if (end.bridge) await space.ip('link', 'set', end.name, 'master', end.bridge)
      for (const address of end.addresses ?? []) await space.ip('addr', 'add', address, 'dev', end.name)
      await space.ip('link', 'set', end.name, 'up')
    }
  }

  /** Pids of all that runs in it. */
  async pids(): Promise<number[]> {
    return pidsIn(this.name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await remove(this.name)
  }
}

export interface CableEnd {
  name: string
  mac?: string
  /** It becomes a port of this bridge. */
  bridge?: string
  /** Like 10.0.0.1/24. */
  addresses?: string[]
}

async function pidsIn(name: string): Promise<number[]> {
  const { stdout } = await runProgram('ip', ['netns', 'pids', name])
  return stdout.split('\n').filter(Boolean).map(Number)
}

/** Ends what runs in it, then takes it away: devices go with it. */
async function remove(name: string): Promise<void> {
  const deadline = Date.now() + END_MS
  for (let pids = await pidsIn(name); pids.length > 0 && Date.now() < deadline; pids = await pidsIn(name)) {
    for (const pid of pids) kill(pid)
    await delay(20)
  }
  const inode = statSync(`/run/netns/${name}`, { throwIfNoEntry: false })?.ino
  await runProgram('ip', ['netns', 'delete', name])
  // What an agent kept of it there; the number is soon another's.
  if (inode !== undefined) rmSync(`/run/eitri-network/${inode}`, { recursive: true, force: true })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

/** Those of test processes that died. */
async function sweep(): Promise<void> {
  for (const name of namesOfAll()) {
    const [, pid, startTime] = NAME.exec(name) ?? []
    if (pid !== undefined && !isAlive({ pid: Number(pid), startTime: startTime! })) await remove(name)
  }
}

function namesOfAll(): string[] {
  try {
    return readdirSync('/run/netns')
  } catch {
    return []
  }
}
