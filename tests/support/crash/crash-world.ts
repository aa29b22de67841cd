import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { build } from 'esbuild'
import type { Report } from '../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpec } from '../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { type Expected, inodeOf, look, watchVmms } from '../referee.ts'
import { Link } from './link.ts'

const ENTRY = new URL('../../../src/agent/index.ts', import.meta.url).pathname

/** From the signal to the end of a process. */
const DYING_MS = 5_000

/** One file of the agent, which starts faster than its sources. */
export async function bundleAgent(file: string): Promise<void> {
  const options = { bundle: true, platform: 'node', format: 'cjs', logLevel: 'error' } as const
  await build({ ...options, entryPoints: [ENTRY], outfile: file })
}

export interface StartOptions {
  /** `name:phase` at which it dies. */
  failpoint?: string
  /** File that gets each place it reaches. */
  reached?: string
  /** No file it or its children write may grow past this, bytes. */
  fileBytes?: number
  /** Its log is the one in its state directory, which it bounds itself. */
  ownLog?: boolean
}

/** A host with one agent that is killed and started over and over, and what it must have kept. */
export class CrashWorld implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'eitri-crash-'))
  readonly stateDir = join(this.dir, 'deep'.repeat(20), 'state')
  readonly socketPath = join(this.dir, 'run', 'agent.sock')
  readonly expected: Expected = { vms: new Map(), images: new Set() }
  readonly server = new ImageServer()
  epoch = 0n
  hostId = ''
  /** What the last snapshot asked for. */
  wanted: VmSpec[] = []
  #agent: ChildProcess | undefined
  #exit: Promise<unknown> | undefined
  readonly #bundle: string

  constructor(bundle: string) {
    this.#bundle = bundle
  }

  /** False when it died before anybody could connect. */
  async start({ failpoint, reached, fileBytes, ownLog = false }: StartOptions = {}): Promise<boolean> {
    const env: NodeJS.ProcessEnv = { ...process.env, EITRI_GUEST_NETWORK: 'user' }
    if (failpoint !== undefined) env['EITRI_FAILPOINT'] = failpoint
    if (reached !== undefined) env['EITRI_FAILPOINT_LOG'] = reached
    const argv = [process.execPath, this.#bundle, 'serve', '--state-dir', this.stateDir, '--socket', this.socketPath]
    if (fileBytes !== undefined) argv.unshift('prlimit', `--fsize=${fileBytes}`)
    mkdirSync(dirname(this.stateDir), { recursive: true })
    const log = openSync(join(ownLog ? this.stateDir : this.dir, 'agent.log'), 'a')
    const child = spawn(argv[0]!, argv.slice(1), { env, stdio: ['ignore', log, log] })
    closeSync(log)
    this.#agent = child
    this.#exit = once(child, 'exit')
    for (;;) {
      if (!this.alive) return false
      if (await answers(this.socketPath)) return true
      await Promise.race([this.#exit, pause(10)])
    }
  }

  get alive(): boolean {
    return this.#agent !== undefined && this.#agent.exitCode === null && this.#agent.signalCode === null
  }

  /** Ends the agent and tells how it ended: `SIGKILL` when a failpoint came first. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<string> {
    if (this.alive) this.#agent!.kill(signal)
    return await this.ended()
  }

  /** True once it is dead; false when it lives on although a connection to it broke. */
  async dies(): Promise<boolean> {
    await Promise.race([this.#exit, pause(DYING_MS)])
    return !this.alive
  }

  /** How the agent ended, once it has. */
  async ended(): Promise<string> {
    await this.#exit
    return this.#agent?.signalCode ?? `code ${this.#agent?.exitCode}`
  }

  async connect(): Promise<Link> {
    const link = await Link.open(this.socketPath)
    this.hostId ||= link.hello.hostId
    if (link.hello.hostId !== this.hostId) throw new Error('the host has another identity than before')
    if (link.hello.lastSeenEpoch < this.ackedEpoch)
      throw new Error(`epoch ${this.ackedEpoch} was acknowledged and is lost`)
    return link
  }
  ackedEpoch = 0n

  look = () => look(this.stateDir)
  watch = () => watchVmms(this.stateDir)
  vmFile = (id: string, name: string) => join(this.stateDir, 'vms', id, name)
  diskOf = (id: string) => inodeOf(this.vmFile(id, 'disk.qcow2'))

  /** A guest of a probe whose agent was killed, hung for ever. */
  leaveProbe(): void {
    const dir = join(this.stateDir, 'probe')
    mkdirSync(dir, { recursive: true })
    const left = spawn('/bin/sleep', ['600'], { cwd: dir, stdio: 'ignore' })
    writeFileSync(join(dir, 'qemu.pid'), `${left.pid}\n`)
    this.#left.push(left)
  }
  readonly #left: ChildProcess[] = []

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL')
    for (const left of this.#left) left.kill('SIGKILL')
    await this.server.close()
    for (const pids of this.look().vmms.values()) for (const pid of pids) process.kill(pid, 'SIGKILL')
    rmSync(this.dir, { recursive: true, force: true })
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Serves images on loopback. One that `forgets` answers a request for a range with the whole. */
export class ImageServer {
  readonly images = new Map<string, Buffer>()
  forgets = false
  #server: Server | undefined

  async url(bytes: Buffer): Promise<string> {
    const name = digest(bytes)
    this.images.set(name, bytes)
    this.#server ??= await this.#listen()
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${name}`
  }

  async #listen(): Promise<Server> {
    const server = createServer((request, response) => {
      const bytes = this.images.get(request.url?.slice(1) ?? '')
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
      if (!bytes) return response.writeHead(404).end()
      if (from === 0 || this.forgets) return response.writeHead(200, { 'content-length': bytes.length }).end(bytes)
      if (from >= bytes.length) return response.writeHead(416).end()
      const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`
      response
        .writeHead(206, { 'content-range': range, 'content-length': bytes.length - from })
        .end(bytes.subarray(from))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return server
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections()
    this.#server?.close()
  }
}

export const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
export const newId = (): string => randomBytes(16).toString('hex')
export type Goal = (report: Report) => boolean
