import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { MiB } from '../../src/ipc/units.ts'
import { Session } from '../support/agent-process.ts'
import { bootSector } from '../support/boot-sector.ts'
import { SmallDisk } from '../support/small-disk.ts'

const [VM, OTHER] = ['c0ffee00'.repeat(4), 'decaf000'.repeat(4)] as const
const IMAGE = bootSector()
const SHA = createHash('sha256').update(IMAGE).digest('hex')

const spec = (change: MessageInitShape<typeof VmSpecSchema> = {}) =>
  create(VmSpecSchema, {
    vmId: VM,
    name: 'sector',
    imageSha256: SHA,
    vcpus: 1,
    memMb: 64,
    diskGb: 1,
    persistent: true,
    powerState: 'running',
    ...change,
  })

/** A real agent that keeps its state on a small disk. */
class AgentOnDisk implements AsyncDisposable {
  readonly #run = mkdtempSync(join(tmpdir(), 'eitri-full-'))
  readonly #disk: SmallDisk
  #child: ChildProcess | undefined
  readonly socketPath = join(this.#run, 'agent.sock')

  constructor(disk: SmallDisk) {
    this.#disk = disk
  }

  async start(): Promise<void> {
    const entry = new URL('../../src/agent/index.ts', import.meta.url).pathname
    const state = join(this.#disk.inside, 'state')
    const serve = [entry, 'serve', '--state-dir', state, '--socket', this.socketPath]
    const env = { ...process.env, EITRI_GUEST_NETWORK: 'user' }
    const child = spawn(...this.#disk.enter(process.execPath, serve), { stdio: ['ignore', 'ignore', 'pipe'], env })
    this.#child = child
    let said = ''
    const started = Promise.withResolvers<void>()
    child.stderr.on('data', (text: Buffer) => {
      said += text
      if (said.includes('"agent.started"')) started.resolve()
    })
    child.once('exit', () => started.reject(new Error(`the agent ended: ${said}`)))
    await started.promise
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  hypervisors(): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && runsVm(name))
      .map(Number)
  }

  /** What a person would look at, one process a line. */
  hypervisorStates(): string[] {
    return this.hypervisors().map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8').slice(0, 400))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM')
    for (const pid of this.hypervisors()) process.kill(pid, 'SIGKILL')
    rmSync(this.#run, { recursive: true, force: true })
  }
}

function runsVm(pid: string): boolean {
  try {
    const isQemu = readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('qemu')
    return isQemu && [VM, OTHER].some((id) => readlinkSync(`/proc/${pid}/cwd`).endsWith(`/vms/${id}`))
  } catch {
    return false
  }
}

describe('a real agent whose disk has not a byte left', () => {
  it('stops, deletes and purges its guests, starts again, and says of a new VM what it lacks', async () => {
    await using disk = await SmallDisk.mount('ext4', 420 * MiB)
    await using agent = new AgentOnDisk(disk)
    await agent.start()
    using session = await Session.open(agent.socketPath)
    session.want(1n, [spec()])
    await session.report((r) => r.wantedImages.length > 0)
    await session.push(IMAGE, SHA)
    const running = (vmId: string, power: string) => (r: Report) =>
      r.vms.some((vm) => vm.vmId === vmId && vm.power === power && vm.phase === 'ready')
    await session.report(running(VM, 'running'))
    await disk.fill()
    expect(disk.free).toBe(0)

    session.want(2n, [spec(), spec({ vmId: OTHER, name: 'late' })])
    const refused = await session.report((r) => r.vms.some((vm) => vm.vmId === OTHER && vm.reason !== ''))
    const late = refused.vms.find((vm) => vm.vmId === OTHER)
    expect(late?.reason).toBe('host/disk-full')
    expect(late?.detail).toMatch(
      /^The host has [\d.]+ \w+ free in \/.*; this needs 4 MiB beside the 256 MiB kept free\.$/,
    )
    expect(refused.vms.find((vm) => vm.vmId === VM)?.power).toBe('running')

    session.want(3n, [spec({ powerState: 'stopped', forceStop: true })])
    await session.report(running(VM, 'stopped'))
    await expect.poll(() => agent.hypervisorStates(), { timeout: 5_000 }).toEqual([])

    await agent.end('SIGKILL')
    await agent.start()
    using again = await Session.open(agent.socketPath)
    again.want(4n, [
      spec({ tombstone: { graceS: 3600n } }),
      spec({ vmId: OTHER, name: 'late', tombstone: { graceS: 0n } }),
    ])
    await again.report((r) => r.quarantined.some((vm) => vm.vmId === VM) && r.destroyed.includes(OTHER))
    again.want(5n, [spec({ tombstone: { graceS: 0n } })])
    await again.report((r) => r.destroyed.includes(VM))
    expect(readdirSync(join(disk.dir, 'state', 'vms'))).toEqual([])

    await disk.unfill()
    again.want(6n, [spec()])
    await again.report(running(VM, 'running'))
  })
})
