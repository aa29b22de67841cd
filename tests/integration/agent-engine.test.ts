import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { type VmRow, VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { AgentProcess, Session } from '../support/agent-process.ts'
import { bootSector, SECTOR_BANNER } from '../support/boot-sector.ts'

const VM = 'c0ffee00c0ffee00c0ffee00c0ffee00'
const MiB = 1024n ** 2n
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
const row = (report: Report): VmRow | undefined => report.vms.find((vm) => vm.vmId === VM)
const is = (power: string, phase: string) => (report: Report) =>
  row(report)?.power === power && row(report)?.phase === phase && row(report)?.detail === ''

describe('an agent with a real guest', () => {
  it('boots, survives the SIGKILL of its agent, is found again, stops, and leaves nothing', async () => {
    await using agent = new AgentProcess()
    await agent.start()
    let firstPid: number
    {
      using session = await Session.open(agent.socketPath)
      session.want(1n, [spec()])
      const waiting = await session.report((r) => r.wantedImages.length > 0)
      expect(waiting.wantedImages).toMatchObject([{ sha256: SHA, haveBytes: 0n }])
      expect(row(waiting)).toMatchObject({ power: 'stopped', phase: 'creating', detail: 'waiting for the image' })
      expect(await session.push(IMAGE, SHA)).toBe(512n)

      const booted = await session.report(is('running', 'ready'))
      expect(row(booted)).toMatchObject({ acceleration: 'tcg', ip: '', unowned: false })
      expect(booted.images).toMatchObject([{ sha256: SHA, sizeBytes: 512n }])
      expect(await session.console(VM, SECTOR_BANNER, 1)).toContain(SECTOR_BANNER)
      ;[firstPid = 0] = agent.hypervisors()
      expect(firstPid).toBeGreaterThan(0)

      await agent.end('SIGKILL')
    }
    expect(agent.hypervisors()).toEqual([firstPid])
    await agent.start()
    using session = await Session.open(agent.socketPath)
    await session.report(is('running', 'ready'))
    expect(agent.hypervisors()).toEqual([firstPid])
    expect(await session.console(VM, 'typed-after', 1, 'typed-after')).toContain(SECTOR_BANNER)
    const measured = await session.report((r) => row(r)?.metrics?.rssBytes !== undefined)
    expect(row(measured)?.metrics?.cpuTimeMs).toBeGreaterThan(0n)
    expect(row(measured)?.metrics?.rssBytes).toBeGreaterThan(MiB)
    expect(row(measured)?.metrics?.pssBytes).toBeGreaterThan(MiB)
    expect(row(measured)?.metrics?.diskUsedBytes).toBeGreaterThan(0n)
    expect(measured.metrics?.agentFds).toBeGreaterThan(0)
    expect(measured.metrics?.memTotalBytes).toBeGreaterThan(measured.metrics!.memAvailableBytes!)

    session.want(2n, [spec({ powerState: 'stopped', forceStop: true })])
    await session.report(is('stopped', 'ready'))
    expect(agent.hypervisors()).toEqual([])

    session.want(3n, [spec()])
    await session.report(is('running', 'ready'))
    expect(await session.console(VM, SECTOR_BANNER, 2)).toContain('typed-after')

    session.want(4n, [spec({ restartCount: 1n, powerState: 'stopped', forceStop: true })])
    await session.report(is('stopped', 'ready'))
    session.want(5n, [spec({ tombstone: { graceS: 3600n } })])
    const kept = await session.report((r) => r.quarantined.length > 0)
    expect(JSON.parse(kept.quarantined[0]!.specJson)).toMatchObject({ vmId: VM, name: 'sector' })
    expect(kept.destroyed).toEqual([])

    session.want(6n, [spec({ restartCount: 1n })])
    await session.report(is('running', 'ready'))

    session.want(5n, [])
    expect((await session.report((r) => r.fenced)).lastSeenEpoch).toBe(6n)
    expect(agent.hypervisors()).toHaveLength(1)

    session.want(7n, [spec({ tombstone: { graceS: 0n } })])
    await session.report((r) => r.destroyed.includes(VM))
    expect(agent.hypervisors()).toEqual([])
    expect(readdirSync(join(agent.stateDir, 'vms'))).toEqual([])
    expect(readdirSync(join(agent.stateDir, 'trash'))).toEqual([])

    session.want(8n, [])
    const empty = await session.report((r) => r.lastSeenEpoch === 8n && r.destroyed.length === 0)
    expect(empty).toMatchObject({ vms: [], quarantined: [], wantedImages: [] })
    await agent.end('SIGTERM')
    expect(existsSync(agent.socketPath)).toBe(false)
    expect(readdirSync(agent.stateDir)).not.toContain('agent.lock')
  }, 60_000)

  it('a second agent on the same state directory is refused by name', async () => {
    await using agent = new AgentProcess()
    await agent.start()
    await using second = new AgentProcess()
    Object.assign(second, { stateDir: agent.stateDir })
    await expect(second.start()).rejects.toThrow(/An agent already uses .* \(pid \d+\)/)
    Object.assign(second, { stateDir: join(second.dir, 'none') })
  }, 30_000)
})
