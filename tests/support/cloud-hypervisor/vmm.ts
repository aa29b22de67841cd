import { type Config, openPayload, SerialSocket, truncateSerialFile, writeEvent } from './guest.ts'
import { readScript } from './script.ts'

export interface Reply {
  status: number
  body?: unknown
}

const done: Reply = { status: 204 }
/** An error chain, outermost first, as v53 sends it. */
const refuse = (status: number, ...chain: string[]): Reply => ({ status, body: chain })
const notCreated = (what: string) => refuse(404, `Error from API`, `The VM could not ${what}`, 'VM is not created')

/** The state machine behind the API: one VM, created, booted, paused, ended; wrong order is refused. */
export class FakeVmm {
  readonly #eventFile: string | undefined
  readonly #stays: boolean
  #config: Config | undefined
  #state: 'Created' | 'Running' | 'Paused' = 'Created'
  #serial: SerialSocket | undefined

  /** `stays`: --no-shutdown was given. */
  constructor(eventFile: string | undefined, stays: boolean) {
    this.#eventFile = eventFile
    this.#stays = stays
    this.event('vmm', 'starting')
  }

  event(source: string, event: string): void {
    writeEvent(this.#eventFile, source, event)
  }

  async handle(endpoint: string, body: unknown): Promise<Reply> {
    switch (endpoint) {
      case 'vmm.ping':
        return {
          status: 200,
          body: { build_version: 'v53.0-fake', version: '53.0.0', pid: process.pid, features: ['kvm'] },
        }
      case 'vm.info':
        return this.#config
          ? { status: 200, body: { config: this.#config, state: this.#state, memory_actual_size: 0 } }
          : notCreated('be looked at')
      case 'vm.create':
        return await this.#create(body as Config)
      case 'vm.boot':
        return this.#boot()
      case 'vm.pause':
        return this.#move('be paused', ['Running'], 'Paused', ['pausing', 'paused'])
      case 'vm.resume':
        return this.#move('be resumed', ['Paused'], 'Running', ['resuming', 'resumed'])
      case 'vm.power-button':
        return this.#powerButton()
      case 'vm.shutdown':
        return this.#move('be shut down', ['Running', 'Paused'], 'Created', ['shutdown'])
      case 'vm.delete':
        this.#forget()
        return done
      case 'vmm.shutdown':
        this.#end()
        return done
      default:
        return refuse(500, 'Error from API', `${endpoint} is not played by this peer`)
    }
  }

  /** As the real one: whatever made it end, its sockets go with the process. */
  #end(): void {
    this.#forget()
    this.event('vmm', 'shutdown')
    setImmediate(() => process.exit(0))
  }

  #forget(): void {
    if (this.#config && this.#state !== 'Created') this.event('vm', 'shutdown')
    if (this.#config) this.event('vm', 'deleted')
    this.#serial?.close()
    this.#config = undefined
    this.#state = 'Created'
  }

  async #create(config: Config): Promise<Reply> {
    const problem = (...chain: string[]) => refuse(500, 'Error from API', 'The VM could not be created', ...chain)
    if (this.#config) return problem('VM is already created')
    if (!config.payload.firmware && !config.payload.kernel)
      return refuse(400, 'Error from API', 'The VM config is not valid', 'Kernel or firmware missing')
    if (config.serial?.mode === 'Socket' && !config.serial.socket)
      return refuse(400, 'Error from API', 'The VM config is not valid', 'Path missing when using socket console mode')
    try {
      truncateSerialFile(config)
      if (config.serial?.mode === 'Socket') this.#serial = await SerialSocket.listen(config.serial.socket!)
    } catch (error) {
      return problem('Error creating console devices', String(error))
    }
    this.#config = config
    return done
  }

  #boot(): Reply {
    if (!this.#config) return notCreated('boot')
    if (this.#state !== 'Created') return this.#wrongState('boot')
    const { dieAtBoot } = readScript()
    if (dieAtBoot !== undefined) {
      process.stderr.write(`${dieAtBoot}\n`)
      process.exit(1)
    }
    this.event('vm', 'booting')
    try {
      openPayload(this.#config)
    } catch (error) {
      return refuse(500, 'Error from API', 'The VM could not boot', `Cannot open: ${(error as Error).message}`)
    }
    this.#state = 'Running'
    this.event('vm', 'booted')
    this.#serial?.print('guest: up\r\n')
    return done
  }

  #powerButton(): Reply {
    if (!this.#config) return notCreated('receive a power button')
    if (this.#state === 'Created') return this.#wrongState('receive a power button')
    // A paused guest gets the button only once it runs; the peer's forgets it.
    if (this.#state === 'Running' && !readScript().deaf) this.guestPowersOff()
    return done
  }

  guestPowersOff(): void {
    this.#serial?.print('guest: power off\r\n')
    setImmediate(() => {
      if (!this.#stays) return this.#end()
      this.event('vm', 'shutdown')
      this.#state = 'Created'
    })
  }

  #move(what: string, from: string[], to: 'Created' | 'Running' | 'Paused', events: string[]): Reply {
    if (!this.#config) return notCreated(what)
    if (!from.includes(this.#state)) return this.#wrongState(what)
    this.#state = to
    for (const event of events) this.event('vm', event)
    return done
  }

  #wrongState(what: string): Reply {
    const status = readScript().documentedStatuses ? 405 : 500
    return refuse(status, 'Error from API', `The VM could not ${what}`, `Invalid transition from ${this.#state}`)
  }
}
