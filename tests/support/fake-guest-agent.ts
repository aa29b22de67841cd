import { existsSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'

/** What the guest sends for a command: text as it is, an object as a line, undefined = nothing. */
export type GuestAnswer = string | Buffer | object | undefined
export type GuestCommands = Record<string, (args: Record<string, unknown>) => GuestAnswer | Promise<GuestAnswer>>

export const returns = (value: unknown): object => ({ return: value })
export const refuses = (desc: string): object => ({ error: { class: 'GenericError', desc } })

/** A guest agent behind a socket, as QEMU's channel leads to one: it says what its script says and what a real one does. */
export class FakeGuestAgent {
  readonly asked: string[] = []
  readonly args: Record<string, unknown>[] = []
  connections = 0
  /** Sent before the answer to the mark, as a guest that had more to say does. */
  before: string | Buffer = ''
  silent = false
  readonly commands: GuestCommands
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(commands: GuestCommands) {
    this.commands = commands
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async listen(path: string, commands: GuestCommands = {}): Promise<FakeGuestAgent> {
    const agent = new FakeGuestAgent(commands)
    if (existsSync(path)) rmSync(path)
    await new Promise<void>((resolve) => agent.#server.listen(path, resolve))
    return agent
  }

  /** To every connection, unasked. */
  say(text: string | Buffer): void {
    for (const socket of this.#sockets) socket.write(text)
  }

  get open(): number {
    return this.#sockets.size
  }

  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.hangUp()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(socket: Socket): void {
    this.connections++
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    let held = Buffer.alloc(0)
    socket.on('data', (bytes) => {
      held = Buffer.concat([held, bytes])
      for (let end = held.indexOf(0x0a); end >= 0; end = held.indexOf(0x0a)) {
        const line = held.subarray(0, end)
        held = held.subarray(end + 1)
        void this.#take(socket, line)
      }
    })
  }

  async #take(socket: Socket, line: Buffer): Promise<void> {
    if (this.silent) return
    const marked = line[0] === 0xff
    const { execute, arguments: args = {} } = JSON.parse(line.subarray(marked ? 1 : 0).toString()) as {
      execute: string
      arguments?: Record<string, unknown>
    }
    if (execute === 'guest-sync-delimited') {
      // A real one tells of the mark, which is no JSON, first.
      const complaint = marked ? `${JSON.stringify(refuses('JSON parse error, stray 0xff'))}\n` : ''
      const answer = Buffer.concat([Buffer.of(0xff), Buffer.from(`${JSON.stringify(returns(args['id']))}\n`)])
      socket.write(Buffer.concat([Buffer.from(this.before), Buffer.from(complaint), answer]))
      return
    }
    this.asked.push(execute)
    this.args.push(args)
    const command = this.commands[execute]
    const answer = command ? await command(args) : refuses(`The command ${execute} has not been found`)
    if (answer === undefined) return
    socket.write(typeof answer === 'string' || Buffer.isBuffer(answer) ? answer : `${JSON.stringify(answer)}\n`)
  }
}

/** guest-exec and its status for programs that answer at once; a program that is not there is refused as in a guest. */
export function programs(
  run: (path: string, arg: string[], input: string) => { code?: number; out?: string; err?: string } | undefined,
): GuestCommands {
  const ended = new Map<number, object>()
  return {
    'guest-exec': ({ path, arg, 'input-data': input = '' }) => {
      const done = run(String(path), (arg ?? []) as string[], Buffer.from(String(input), 'base64').toString())
      if (!done)
        return refuses(
          `Guest agent command failed, Failed to execute child process “${path}” (No such file or directory)`,
        )
      const pid = 100 + ended.size
      const base64 = (text: string | undefined) => (text ? Buffer.from(text).toString('base64') : undefined)
      ended.set(pid, {
        exited: true,
        exitcode: done.code ?? 0,
        'out-data': base64(done.out),
        'err-data': base64(done.err),
      })
      return returns({ pid })
    },
    'guest-exec-status': ({ pid }) => returns(ended.get(Number(pid))),
  }
}
