import { closeSync, constants, openSync, renameSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connectUnix } from '../../src/agent/os/unix-socket.ts'

/** What stands in QEMU's place: its own socket beside. */
const REAL = 'real-qmp.sock'

/**
 * Stands between an agent and a QEMU that serves one client alone, and says things of its own in between. Put there
 * while no agent is attached.
 */
export class QmpProxy implements AsyncDisposable {
  readonly #dir: string
  readonly #name: string
  readonly #fd: number
  readonly #server: Server
  readonly #attached = Promise.withResolvers<Socket>()
  readonly #waiting = new Map<string, (answer: unknown) => void>()
  readonly #sockets = new Set<Socket>()
  #count = 0

  private constructor(dir: string, name: string) {
    this.#dir = dir
    this.#name = name
    renameSync(join(dir, name), join(dir, REAL))
    // Addresses of sockets are shorter than such a path.
    this.#fd = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY)
    this.#server = createServer((agent) => void this.#join(agent))
  }

  static async open(dir: string, name = 'qmp.sock'): Promise<QmpProxy> {
    const proxy = new QmpProxy(dir, name)
    await new Promise<void>((resolve) => proxy.#server.listen(`/proc/self/fd/${proxy.#fd}/${name}`, resolve))
    return proxy
  }

  /** Resolves with QEMU's answer, once an agent is attached. */
  async execute(command: string): Promise<unknown> {
    const qemu = await this.#attached.promise
    const id = `proxy-${++this.#count}`
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve))
    qemu.write(`${JSON.stringify({ execute: command, id })}\n`)
    return await answer
  }

  async #join(agent: Socket): Promise<void> {
    const qemu = await connectUnix(this.#dir, REAL, 5_000)
    for (const socket of [agent, qemu]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
    }
    agent.on('close', () => qemu.destroy())
    qemu.on('close', () => agent.destroy())
    agent.on('data', (bytes) => qemu.write(bytes))
    const lines = createInterface({ input: qemu })
    lines.on('error', () => {})
    lines.on('line', (line) => {
      const { id } = JSON.parse(line) as { id?: unknown }
      const mine = typeof id === 'string' ? this.#waiting.get(id) : undefined
      if (mine) mine(JSON.parse(line))
      else agent.write(`${line}\n`)
    })
    // Before the agent has greeted it, QEMU takes no command.
    agent.once('data', () => this.#attached.resolve(qemu))
  }

  /** QEMU's own socket is in its place again; the agent has to attach anew. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
    rmSync(join(this.#dir, this.#name), { force: true })
    renameSync(join(this.#dir, REAL), join(this.#dir, this.#name))
    closeSync(this.#fd)
  }
}
