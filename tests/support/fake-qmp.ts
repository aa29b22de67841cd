import { createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** One thing the peer does; the next begins when it is done. */
export type QmpStep = (line: QmpLine) => Promise<void> | void

interface Command {
  execute: string
  id: number
}

/** One connection as a script sees it. */
export class QmpLine {
  readonly socket: Socket
  readonly peer: FakeQmp
  readonly #waiting: Command[] = []
  #wake: (() => void) | undefined
  open = true

  constructor(socket: Socket, peer: FakeQmp) {
    this.socket = socket
    this.peer = peer
    socket.on('error', () => {})
    socket.on('close', () => {
      this.open = false
      this.#wake?.()
    })
    createInterface({ input: socket }).on('line', (text) => {
      const command = JSON.parse(text) as Command
      peer.commands.push(command.execute)
      this.#waiting.push(command)
      this.#wake?.()
    })
  }

  /** The next command; undefined once the other side is gone. */
  async next(): Promise<Command | undefined> {
    while (this.#waiting.length === 0 && this.open)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    return this.#waiting.shift()
  }

  send(message: object): void {
    this.socket.write(`${JSON.stringify(message)}\n`)
  }
}

/**
 * A QEMU monitor that does what its scripts say: one per connection, in order; a connection without one is polite for
 * ever. Steps that saw something else than they expected are in `problems`.
 */
export class FakeQmp {
  readonly commands: string[] = []
  readonly problems: string[] = []
  /** What a polite peer answers to query-status. */
  status = 'running'
  kvm = false
  connections = 0
  readonly #server: Server
  readonly #lines = new Set<QmpLine>()
  readonly #scripts: QmpStep[][]

  private constructor(scripts: QmpStep[][]) {
    this.#scripts = scripts
    this.#server = createServer((socket) => void this.#serve(socket))
  }

  static async listen(path: string, ...scripts: QmpStep[][]): Promise<FakeQmp> {
    const peer = new FakeQmp(scripts)
    await new Promise<void>((resolve) => peer.#server.listen(path, resolve))
    return peer
  }

  /** To every connection. */
  event(name: string, data: object = {}): void {
    for (const line of this.#lines) line.send({ event: name, data })
  }

  async close(): Promise<void> {
    for (const line of this.#lines) line.socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(socket: Socket): Promise<void> {
    const script = this.#scripts[this.connections++] ?? [greets, polite]
    const line = new QmpLine(socket, this)
    this.#lines.add(line)
    for (const step of script) await step(line)
  }
}

export const greets: QmpStep = (line) => line.send({ QMP: { version: {}, capabilities: [] } })

/** Waits for that command and answers it; without an answer it stays owed. */
export const takes =
  (command: string, answer?: object): QmpStep =>
  async (line) => {
    const got = await line.next()
    if (got?.execute !== command) line.peer.problems.push(`${got?.execute ?? 'the end'} instead of ${command}`)
    else if (answer) line.send({ id: got.id, ...answer })
  }

export const done = (value: unknown = {}) => ({ return: value })

/** What every new client of ours begins with. */
export const begins: QmpStep = async (line) => {
  await greets(line)
  await takes('qmp_capabilities', done())(line)
  await takes('query-status', done({ status: line.peer.status }))(line)
  await takes('query-kvm', done({ enabled: line.peer.kvm, present: true }))(line)
}

/** Answers everything as a healthy QEMU does, until the other side is gone. */
export const polite: QmpStep = async (line) => {
  for (let command = await line.next(); command; command = await line.next()) {
    const { execute, id } = command
    if (execute === 'query-status') line.send({ return: { status: line.peer.status }, id })
    else if (execute === 'query-kvm') line.send({ return: { enabled: line.peer.kvm, present: true }, id })
    else line.send({ return: {}, id })
  }
}

export const tells =
  (name: string, data: object = {}): QmpStep =>
  (line) =>
    line.send({ event: name, data })

export const says =
  (text: string): QmpStep =>
  (line) =>
    void line.socket.write(text)

export const hangsUp: QmpStep = (line) => void line.socket.destroy()

/** Reads and says nothing until the other side is gone. */
export const silent: QmpStep = async (line) => {
  while (await line.next());
}

/** Goes on when the test says so. */
export const waitsFor =
  (gate: Promise<unknown>): QmpStep =>
  async () =>
    void (await gate)
