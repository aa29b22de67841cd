import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import type { NetworkStatus } from '../../src/ipc/gen/eitri/agent/v1/network_pb.js'
import { type Exposure, ExposureSchema, type Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { TombstoneSchema, type VmSpec, VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { AgentProcess, type AgentProcessOptions, Session } from './agent-process.ts'
import type { AttachOptions } from './agent-wire.ts'
import { NetNamespace } from './net-namespace.ts'
import { tinyImageFile } from './tiny-image.ts'

/** Of the host on the cable to the outside, and of the outside. */
export const HOST_ADDRESS = '198.51.100.2'
export const OUTSIDE_ADDRESS = '198.51.100.1'

/** Says to whoever connects with which address it came. */
const PORT = 80
const WHO_ARE_YOU = `const net = require('node:net')
net.createServer((s) => s.on('error', () => {}).end('you are ' + s.remoteAddress)).listen(${PORT}, '0.0.0.0', () => console.log('listening'))`

let lines = 0

/** A host of its own with an agent that owns its network, a cable to an outside with a web server, and tiny guests. */
export class GuestHost implements AsyncDisposable {
  readonly space: NetNamespace
  readonly outside: NetNamespace
  readonly agent: AgentProcess
  readonly #wanted = new Map<string, VmSpec>()
  #exposures: Exposure[] = []
  #session: Session | undefined
  #sha256 = ''
  #epoch = 0n

  private constructor(space: NetNamespace, outside: NetNamespace, options: AgentProcessOptions) {
    this.space = space
    this.outside = outside
    this.agent = new AgentProcess({ namespace: space, ...options })
  }

  /** The agent runs when it resolves, unless told not to. */
  static async open(options: AgentProcessOptions & { start?: boolean } = {}): Promise<GuestHost> {
    const { start = true, ...rest } = options
    const host = new GuestHost(await NetNamespace.make(), await NetNamespace.make(), rest)
    try {
      const there = { name: 'eth0', addresses: [`${OUTSIDE_ADDRESS}/24`] }
      await host.space.cable({ name: 'eth0', addresses: [`${HOST_ADDRESS}/24`] }, host.outside, there)
      const server = host.outside.spawn([process.execPath, '-e', WHO_ARE_YOU])
      await new Promise<void>((resolve) => server.stdout!.once('data', () => resolve()))
      if (start) await host.start()
      return host
    } catch (error) {
      await host[Symbol.asyncDispose]()
      throw error
    }
  }

  async start(): Promise<void> {
    await this.agent.start()
    await this.attach()
  }

  /** A new session in place of the one there was; what the agent said of itself. */
  async attach(options: AttachOptions = {}) {
    this.#session?.[Symbol.dispose]()
    this.#session = await Session.open(this.agent.socketPath, options)
    return this.#session.hello
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#session?.[Symbol.dispose]()
    await this.agent.end(signal)
  }

  /** Wants a new running VM; its id. */
  async create(name: string, change: Partial<VmSpec> = {}): Promise<string> {
    const vmId = randomBytes(16).toString('hex')
    const imageSha256 = await this.#image()
    const sizes = { vcpus: 1, memMb: 96, diskGb: 1 }
    const spec = { vmId, name, imageSha256, imageKind: 'kernel', ...sizes, powerState: 'running', persistent: true }
    this.#wanted.set(vmId, Object.assign(create(VmSpecSchema, spec), change))
    this.#send()
    return vmId
  }

  /** Wants the VM otherwise. */
  change(vmId: string, change: Partial<VmSpec>): void {
    Object.assign(this.#wanted.get(vmId)!, change)
    this.#send()
  }

  /** Publishes these ports and no others. */
  publish(...exposures: MessageInitShape<typeof ExposureSchema>[]): void {
    this.#exposures = exposures.map((exposure) => create(ExposureSchema, exposure))
    this.#send()
  }

  /** Wants a deleted VM again. */
  undelete(vmId: string): void {
    delete this.#wanted.get(vmId)!.tombstone
    this.#send()
  }

  /** Deletes for good; resolves with the agent's word that nothing is left. */
  async purge(vmId: string): Promise<void> {
    this.tombstone(vmId)
    await this.gone(vmId)
  }

  tombstone(vmId: string): void {
    this.change(vmId, { tombstone: create(TombstoneSchema, { graceS: 0n }) })
  }

  /** Resolves with the agent's word that nothing of a tombstoned VM is left. */
  async gone(vmId: string): Promise<void> {
    await this.report(({ destroyed }) => destroyed.includes(vmId))
    this.#wanted.delete(vmId)
    this.#send()
  }

  /** What the agent kept of a VM, '' = of the host. */
  history(vmId = '') {
    return this.#session!.history(vmId)
  }

  command(vmId: string) {
    return this.#session!.command(vmId)
  }

  report(want: (report: Report) => boolean): Promise<Report> {
    return this.#session!.report(want)
  }

  /** Its address once it runs with one; '' when it runs without. */
  async runningWith(vmId: string): Promise<string> {
    const { vms } = await this.report(({ vms }) => vms.some((vm) => vm.vmId === vmId && vm.power === 'running'))
    return vms.find((vm) => vm.vmId === vmId)!.ip
  }

  /** The fleet's own network as the next report has it. */
  async network(): Promise<NetworkStatus> {
    const { networks } = await this.report(({ networks }) => networks.length > 0)
    return networks.find(({ name }) => name === 'guests')!
  }

  /** Types a line into the guest's console and answers what it prints. */
  async guest(vmId: string, line: string): Promise<string> {
    // What is typed before there is a shell is thrown away by getty.
    await this.prompt(vmId)
    const n = ++lines
    const input = `echo begin-$((${n})); ${line}; echo; echo end-$((${n}))\n`
    const seen = (await this.#session!.console(vmId, `end-${n}\r`, 1, input)).replaceAll('\r', '')
    return seen.slice(seen.lastIndexOf(`begin-${n}\n`) + `begin-${n}\n`.length, seen.lastIndexOf(`end-${n}`)).trim()
  }

  /** What the server outside calls it. */
  async outsideCalls(vmId: string): Promise<string> {
    return await this.guest(vmId, `nc -w 10 ${OUTSIDE_ADDRESS} ${PORT} </dev/null`)
  }

  /** Resolves when the guest showed its prompt. */
  async prompt(vmId: string): Promise<void> {
    await this.#session!.console(vmId, ':~# ', 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session?.[Symbol.dispose]()
    await this.agent[Symbol.asyncDispose]()
    await this.space[Symbol.asyncDispose]()
    await this.outside[Symbol.asyncDispose]()
  }

  async #image(): Promise<string> {
    if (this.#sha256 !== '') return this.#sha256
    const image = readFileSync(await tinyImageFile())
    const sha256 = createHash('sha256').update(image).digest('hex')
    await this.#session!.push(image, sha256)
    this.#sha256 = sha256
    return sha256
  }

  #send(): void {
    this.#session!.want(++this.#epoch, [...this.#wanted.values()], this.#exposures)
  }
}
