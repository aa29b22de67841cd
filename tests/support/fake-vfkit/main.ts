import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type FakeMachine, Refused, readArgv } from './argv.ts'
import { type Behaviour, REQUESTS_FILE, readBehaviour } from './behaviour.ts'
import { type GuestPty, openGuestPty } from './guest-pty.ts'

/** What the guest prints when it starts; after that it echoes every byte. */
const BANNER = 'guest up\r\n'
const TERM_MS = 5_000

const dir = process.env['FAKE_VFKIT_DIR'] ?? '.'
const behaviour = (): Behaviour => readBehaviour(dir)
const say = (level: string, message: string) =>
  process.stderr.write(`time="2026-01-01T00:00:00Z" level=${level} msg=${JSON.stringify(message)}\n`)

/** A scripted vfkit: its command line, its REST address, its pseudo-terminal and its ends; no guest. */
class FakeVfkit {
  readonly #machine: FakeMachine
  readonly #pty: GuestPty
  #state = 'VirtualMachineStateRunning'
  #inspected = 0

  constructor(machine: FakeMachine, pty: GuestPty) {
    this.#machine = machine
    this.#pty = pty
    pty.onTyped((bytes) => pty.print(bytes.toString('latin1')))
  }

  serve(): void {
    const server = createServer((request, response) => void this.#take(request, response))
    server.on('error', (error) => {
      say('fatal', `listen unix ${this.#machine.restSocket}: ${error.message}`)
      process.exit(1)
    })
    server.listen(this.#machine.restSocket)
  }

  boot(): void {
    this.#pty.print(BANNER)
    const { lease } = behaviour()
    const mac = String(this.#machine.devices.find(({ kind }) => kind === 'virtionet')?.['macAddress'] ?? '')
    const unpadded = mac.split(':').map((octet) => Number.parseInt(octet, 16).toString(16))
    if (lease)
      appendFileSync(
        lease.file,
        `{\n\tname=guest\n\tip_address=${lease.ip}\n\thw_address=1,${unpadded.join(':')}\n\tlease=0x6782bf9a\n}\n`,
      )
    say('info', 'virtual machine is running')
  }

  end(): never {
    rmSync(this.#machine.restSocket, { force: true })
    say('info', 'VM is stopped')
    process.exit(0)
  }

  /** As its signal handler: asks the guest, waits, forces it off. */
  terminate(): void {
    const { ignoresTerm, deaf, termMs = TERM_MS } = behaviour()
    process.stderr.write('2026/01/01 00:00:00 captured terminated, calling exit handlers and exiting..\n')
    if (ignoresTerm) return
    if (!deaf) this.end()
    setTimeout(() => this.end(), termMs)
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const asked = `${request.method} ${request.url}`
    appendFileSync(join(dir, REQUESTS_FILE), `${JSON.stringify({ vm: this.#machine.restSocket, asked, body })}\n`)
    process.stdout.write(`[GIN] 2026/01/01 - 00:00:00 | 200 | ${asked}\n`)
    const { answers } = behaviour()
    if (answers === 'never') return
    if (answers === 'reset') return void request.socket.destroy()
    if (answers === 'garbage') return void response.end('<html>')
    if (answers === 'flood') return void response.end(JSON.stringify({ state: 'x'.repeat(4 * 1024 * 1024) }))
    if (request.headers.host !== 'vfkit') return reply(response, 400, { error: 'the host is no placeholder' })
    if (asked === 'GET /vm/inspect') return reply(response, 200, this.#inspect())
    if (asked === 'GET /vm/state') return reply(response, 200, this.#stateAnswer())
    if (asked === 'POST /vm/state') return this.#change(body, response)
    response.writeHead(404).end('404 page not found')
  }

  #inspect(): Record<string, unknown> {
    const known = this.#inspected++ >= (behaviour().ptyAfter ?? 0)
    const { vcpus, memoryBytes, bootloader, devices } = this.#machine
    const named = devices.map((device) =>
      device.kind === 'virtioserial' && known ? { ...device, ptyName: this.#pty.name } : device,
    )
    return { vcpus, memoryBytes, bootloader, devices: named }
  }

  #stateAnswer(): Record<string, unknown> {
    const running = this.#state.endsWith('Running')
    const { canStop = running } = behaviour()
    const paused = this.#state.endsWith('Paused')
    return { state: this.#state, canStart: false, canPause: running, canResume: paused, canStop, canHardStop: true }
  }

  #change(body: string, response: ServerResponse): void {
    let wanted: unknown
    try {
      const parsed = JSON.parse(body) as Record<string, unknown>
      if (Object.keys(parsed).join() !== 'state') throw new Error(`unknown fields: ${Object.keys(parsed).join()}`)
      wanted = parsed['state']
    } catch (error) {
      return void reply(response, 400, { error: String(error) })
    }
    const refused = this.#refusal(String(wanted))
    if (refused !== '') {
      say('error', `failed action ${wanted}: ${refused}`)
      return void reply(response, 500, { error: refused })
    }
    this.#act(String(wanted), response)
  }

  #refusal(wanted: string): string {
    const running = this.#state.endsWith('Running')
    const allowed: Record<string, boolean> = {
      Pause: running,
      Resume: this.#state.endsWith('Paused'),
      Stop: running && behaviour().canStop !== false,
      HardStop: behaviour().hardStopFails === undefined,
    }
    if (!(wanted in allowed)) return `invalid new VMState: ${wanted}`
    if (allowed[wanted]) return ''
    return (
      behaviour().hardStopFails ?? `Error Domain=VZErrorDomain Code=3 Description="Invalid transition to ${wanted}"`
    )
  }

  #act(wanted: string, response: ServerResponse): void {
    if (wanted === 'Pause') this.#state = 'VirtualMachineStatePaused'
    if (wanted === 'Resume') this.#state = 'VirtualMachineStateRunning'
    const { deaf, endsBeforeReply } = behaviour()
    const ends = wanted === 'HardStop' || (wanted === 'Stop' && !deaf)
    if (ends && endsBeforeReply) this.end()
    response.writeHead(202).end(ends ? () => this.end() : undefined)
  }
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

function refuse(message: string): never {
  process.stderr.write(`Error: ${message}\nUsage:\n  vfkit [flags]\n\nFlags:\n  -c, --cpus uint\n\n${message}\n`)
  process.exit(1)
}

async function main(argv: string[]): Promise<void> {
  if (argv.join() === '--version') return void process.stdout.write('vfkit version: v0.6.3\n')
  const { refuses, silent, arch = 'arm64' } = behaviour()
  if (refuses !== undefined) refuse(refuses)
  const machine = readArgv(argv, arch)
  if (machine.pidfile !== '') writeFileSync(machine.pidfile, String(process.pid), { mode: 0o600 })
  variables(machine)
  const vfkit = new FakeVfkit(machine, await openGuestPty())
  process.on('SIGTERM', () => vfkit.terminate())
  vfkit.boot()
  if (silent) setInterval(() => {}, 60_000)
  else vfkit.serve()
}

/** `create` empties a store that is there; without it there must be one. */
function variables({ bootloader }: FakeMachine): void {
  const store = bootloader['efiVariableStorePath']
  if (typeof store !== 'string') return
  if (bootloader['createVariableStore']) writeFileSync(store, `made by ${process.pid}\n`)
  else if (!existsSync(store)) throw new Refused(`open ${store}: no such file or directory`)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  refuse(error instanceof Refused ? error.message : String(error))
})
