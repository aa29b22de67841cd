import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { run } from '../../src/agent/os/exec.ts'
import { FAILPOINTS, type Failpoint, phasesOf } from '../../src/agent/os/failpoints.ts'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmRow, VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { Session } from '../support/agent-process.ts'
import { VFKIT_BANNER } from '../support/fake-vfkit.ts'
import { MacAgent } from '../support/mac-agent.ts'

/** A step beside the work is taken within this. */
const LATE_MS = 15_000
const VM = 'facade00facade00facade00facade00'
const IP = '192.168.64.7'

const RAW = Buffer.alloc(4096, 7)
const digest = (image: Buffer) => createHash('sha256').update(image).digest('hex')
const spec = (image: Buffer, change: MessageInitShape<typeof VmSpecSchema> = {}) =>
  create(VmSpecSchema, {
    vmId: VM,
    name: 'mac',
    imageSha256: digest(image),
    vcpus: 1,
    memMb: 512,
    diskGb: 1,
    persistent: true,
    powerState: 'running',
    ...change,
  })
const row = (report: Report): VmRow | undefined => report.vms.find((vm) => vm.vmId === VM)
const is = (power: string, phase: string) => (report: Report) =>
  row(report)?.power === power && row(report)?.phase === phase

async function qcow2(): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'eitri-qcow2-'))
  const file = join(dir, 'image')
  await run('disk.create', 'qemu-img', ['create', '-q', '-f', 'qcow2', file, '1M'], { timeoutMs: 30_000 })
  const image = await readFile(file)
  await rm(dir, { recursive: true })
  return image
}

/** Nothing of the VM is on the host any more. */
async function purged(agent: MacAgent, session: Session, epoch: bigint, image: Buffer): Promise<void> {
  session.want(epoch, [spec(image, { tombstone: { graceS: 0n } })])
  await session.report((r) => r.destroyed.includes(VM))
  expect(agent.vfkits()).toEqual([])
  for (const dir of ['vms', 'trash', 'sockets']) {
    const path = join(agent.stateDir, dir)
    expect(existsSync(path) ? readdirSync(path) : []).toEqual([])
  }
}

describe('an agent on macOS', () => {
  it('makes a VM, shows its console and address, is killed and finds it again, stops it, and leaves nothing', async () => {
    await using agent = new MacAgent()
    agent.mac.behave({ lease: { file: agent.mac.leases, ip: IP } })
    await agent.start()
    let first: number[]
    {
      using session = await Session.open(agent.socketPath)
      session.want(1n, [spec(RAW)])
      await session.report((r) => r.wantedImages.length > 0)
      await session.push(RAW, digest(RAW))
      const booted = row(await session.report(is('running', 'ready')))
      expect(booted).toMatchObject({ acceleration: 'vz', ip: IP, networkIp: '', detail: '' })
      expect(await session.console(VM, 'typed', 1, 'typed')).toContain(VFKIT_BANNER)
      first = agent.vfkits()
      expect(first).toHaveLength(1)
      await agent.end('SIGKILL')
    }
    expect(agent.vfkits()).toEqual(first)
    await agent.start()
    using session = await Session.open(agent.socketPath)
    await session.report(is('running', 'ready'))
    expect(agent.vfkits()).toEqual(first)
    expect(await session.console(VM, 'again', 1, 'again')).toBe(`${VFKIT_BANNER}typedagain`)

    session.want(2n, [spec(RAW, { powerState: 'stopped' })])
    await session.report(is('stopped', 'ready'))
    expect(agent.vfkits()).toEqual([])
    expect(agent.mac.requests().filter(({ asked }) => asked.startsWith('POST'))).toMatchObject([
      { body: '{"state":"Stop"}' },
    ])
    session.want(3n, [spec(RAW)])
    await session.report(is('running', 'ready'))
    await purged(agent, session, 4n, RAW)
  })
})

type Place = `${Failpoint}:${string}`

/** What the VM boots from and what is asked of it, so that the place is reached. */
interface Way {
  image: Buffer
  /** Stops the VM once it runs; 'silent' = a vfkit that does not answer then. */
  stop?: 'asked' | 'silent'
  /** Nothing can be converted. */
  noConverter?: boolean
  /** How the VM ends up once nothing is in the way. */
  end: (report: Report) => boolean
}

async function wayTo(point: Failpoint): Promise<Way> {
  if (point === 'vfkit-disk.convert') return { image: await qcow2(), end: is('running', 'ready') }
  if (point === 'vfkit-disk.discard') return { image: await qcow2(), noConverter: true, end: is('stopped', 'failed') }
  if (point === 'vfkit.command') return { image: RAW, stop: 'asked', end: is('stopped', 'ready') }
  if (point === 'vfkit.terminate') return { image: RAW, stop: 'silent', end: is('stopped', 'ready') }
  return { image: RAW, end: is('running', 'ready') }
}

async function drive(agent: MacAgent, { image, stop, end }: Way): Promise<void> {
  using session = await Session.open(agent.socketPath)
  const digested = digest(image)
  session.want(1n, [spec(image)])
  const seen = await session.report((r) => r.wantedImages.length > 0 || r.images.length > 0)
  if (seen.images.length === 0) await session.push(image, digested)
  if (stop) {
    await session.report(is('running', 'ready'))
    if (stop === 'silent') agent.mac.behave({ answers: 'reset' })
    session.want(2n, [spec(image, { powerState: 'stopped' })])
  }
  await session.report(end)
}

/** Starts the agent and has it work until it dies at that place. */
async function dieAt(agent: MacAgent, place: Place, way: Way): Promise<void> {
  await agent.start({ EITRI_FAILPOINT: place })
  const ended = drive(agent, way).then(
    () => true,
    () => false,
  )
  const reached = ended.then(async (whole) => {
    // A console is opened beside the work, maybe after all else is done.
    const late = whole ? delay(LATE_MS, true, { ref: false }) : new Promise<never>(() => {})
    if (await late) throw new Error(`${place} was not reached`)
  })
  await Promise.race([agent.died, reached])
}

const PLACES: Place[] = FAILPOINTS.filter((point) => point.startsWith('vfkit')).flatMap((point) =>
  phasesOf(point).map((phase): Place => `${point}:${phase}`),
)

describe('an agent on macOS killed', () => {
  it.each(PLACES)('at %s goes on as if nothing had been', async (place) => {
    const way = await wayTo(place.split(':')[0] as Failpoint)
    await using agent = new MacAgent()
    if (way.noConverter) agent.mac.program('qemu-img', 'exit 1')
    await dieAt(agent, place, way)
    agent.mac.behave({})

    await agent.start()
    using session = await Session.open(agent.socketPath)
    session.want(3n, [spec(way.image, way.stop ? { powerState: 'stopped' } : {})])
    const seen = await session.report((r) => r.wantedImages.length > 0 || r.images.length > 0)
    if (seen.images.length === 0) await session.push(way.image, digest(way.image))
    const report = await session.report(way.end)
    expect(agent.vfkits()).toHaveLength(row(report)?.power === 'running' ? 1 : 0)
    const files = readdirSync(join(agent.stateDir, 'vms', VM))
    expect(files.filter((name) => /^disk\..*tmp$/.test(name))).toEqual([])
    await purged(agent, session, 4n, way.image)
  })
})
