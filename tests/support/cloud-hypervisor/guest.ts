import { appendFileSync, closeSync, openSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'

/** What vm.create carries, once the contract was checked. */
export interface Config {
  payload: { firmware?: string; kernel?: string; initramfs?: string; cmdline?: string }
  disks?: { path?: string; readonly?: boolean; image_type?: string }[]
  serial?: { mode: string; socket?: string; file?: string }
  console?: { mode: string }
  net?: { tap?: string; mac?: string }[]
}

/** A guest's serial port on a unix socket: one client at a time, the newest wins; what nobody has read waits. */
export class SerialSocket {
  readonly #server: Server
  #client: Socket | undefined
  #waiting = ''

  private constructor(server: Server) {
    this.#server = server
  }

  /** Fails when the path exists, as the program does up to v53.0. */
  static async listen(path: string): Promise<SerialSocket> {
    const server = createServer()
    const serial = new SerialSocket(server)
    server.on('connection', (socket) => serial.#take(socket))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(path, resolve)
    })
    return serial
  }

  print(text: string): void {
    if (this.#client) this.#client.write(text)
    else this.#waiting += text
  }

  close(): void {
    this.#client?.destroy()
    this.#server.close()
  }

  #take(socket: Socket): void {
    this.#client?.destroy()
    this.#client = socket
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#client === socket) this.#client = undefined
    })
    // The guest's echo.
    socket.on('data', (typed) => this.print(typed.toString()))
    socket.write(this.#waiting)
    this.#waiting = ''
  }
}

/** Opens what the VM names, as the program does when it boots. Throws what the open failed with. */
export function openPayload({ payload, disks = [] }: Config): void {
  for (const path of [payload.firmware, payload.kernel, payload.initramfs])
    if (path !== undefined) closeSync(openSync(path, 'r'))
  for (const disk of disks) closeSync(openSync(disk.path!, disk.readonly ? 'r' : 'r+'))
}

export function truncateSerialFile(config: Config): void {
  if (config.serial?.mode === 'File') writeFileSync(config.serial.file!, '')
}

/** One event as the event monitor writes it. */
export function writeEvent(file: string | undefined, source: string, event: string): void {
  if (file === undefined) return
  const timestamp = { secs: Math.floor(performance.now() / 1000), nanos: 0 }
  appendFileSync(file, `${JSON.stringify({ timestamp, source, event, properties: null }, null, 2)}\n\n`)
}
