import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os, { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostMeter } from '../../../../src/agent/facts/host-meter.ts'
import { FRESH_MS, Metrics, SECOND_LOOK_MS } from '../../../../src/agent/facts/metrics.ts'
import { uplinkAddress } from '../../../../src/agent/facts/uplink.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { HostMetricsSchema } from '../../../../src/ipc/gen/eitri/agent/v1/host_pb.js'
import { VmMetricsSchema } from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { TIMES } from '../../../../src/ipc/units.ts'
import { FakeClock } from '../reconcile/rig.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'eitri-metrics-'))
})
afterEach(() => rmSync(root, { recursive: true }))

describe('numbers of a host', () => {
  const meter = (options: Partial<ConstructorParameters<typeof HostMeter>[0]> = {}) =>
    new HostMeter({ stateDir: root, uptimeMs: () => 90_500, ...options })

  it('are those of this machine', async () => {
    const measured = await meter({ uptimeMs: linuxProcesses().uptimeMs }).measure()
    expect(measured).toMatchObject({ cpus: os.cpus().length, memTotalBytes: BigInt(os.totalmem()) })
    expect(measured.memAvailableBytes).toBeGreaterThan(0n)
    expect(measured.memAvailableBytes).toBeLessThan(measured.memTotalBytes!)
    expect(measured.diskFreeBytes).toBeLessThanOrEqual(measured.diskTotalBytes!)
    expect(measured.diskTotalBytes).toBeGreaterThan(0n)
    expect(measured.uptimeS).toBeGreaterThan(0n)
    expect(measured.agentRssBytes).toBeGreaterThan(1024n ** 2n)
    expect(measured.agentPssBytes).toBeLessThanOrEqual(measured.agentRssBytes! * 2n)
    expect(measured.agentFds).toBeGreaterThan(2)
    expect([measured.load1, measured.load5, measured.load15].every((load) => load! >= 0)).toBe(true)
  })

  it('have a share of CPU time from the second look on', async () => {
    const proc = join(root, 'proc')
    mkdirSync(proc)
    const say = (stat: string) => writeFileSync(join(proc, 'stat'), stat)
    const looking = meter({ proc })
    say('cpu  100 0 0 100 0 0 0 0\ncpu0 100 0 0 100 0 0 0 0\n')
    expect((await looking.measure()).cpuBusyPermille).toBeUndefined()
    say('cpu  130 0 0 170 0 0 0 0\ncpu0 130 0 0 170 0 0 0 0\n')
    expect(await looking.measure()).toMatchObject({ cpuBusyPermille: 300, cpus: 1 })
  })

  it('are absent, not zero, where they cannot be read', async () => {
    const lost = meter({
      proc: join(root, 'none'),
      stateDir: join(root, 'none'),
      uptimeMs: () => {
        throw new Error('no /proc')
      },
    })
    const measured = await lost.measure()
    expect(Object.keys(measured).sort()).toEqual([
      '$typeName',
      'agentRssBytes',
      'load1',
      'load15',
      'load5',
      'memTotalBytes',
    ])
  })
})

describe('the address of a host towards the outside', () => {
  it('is its IPv4 source, else its IPv6 source, else no answer', async () => {
    expect(await uplinkAddress(async (family) => (family === 'udp4' ? '198.51.100.7' : '2001:db8::7'))).toBe(
      '198.51.100.7',
    )
    expect(await uplinkAddress(async (family) => (family === 'udp4' ? undefined : '2001:db8::7'))).toBe('2001:db8::7')
    expect(await uplinkAddress(async () => undefined)).toBe('')
    expect(await uplinkAddress(() => Promise.reject(new Error('ENETUNREACH')))).toBe('')
  })

  it.each(['127.0.0.1', '169.254.3.4', '0.0.0.0', '::1', 'fe80::1', '::', 'not an address'])(
    'is never one that others cannot reach: %s',
    async (address) => {
      expect(await uplinkAddress(async () => address)).toBe('')
    },
  )
})

describe('measuring', () => {
  const host = create(HostMetricsSchema, { load1: 0.5 })
  const vm = create(VmMetricsSchema, { rssBytes: 5n })

  function aMetrics(change: Partial<ConstructorParameters<typeof Metrics>[0]> = {}) {
    const clock = new FakeClock()
    const looks: string[][] = []
    const metrics = new Metrics({
      host: { measure: async () => host },
      vms: { measure: async (vms) => void looks.push(vms.map(({ id }) => id)), of: () => vm },
      listVms: () => [{ id: 'a', dir: '/a', process: undefined }],
      uplink: async () => '192.0.2.9',
      clock,
      log: silentLog,
      ...change,
    })
    return { metrics, clock, looks }
  }

  it('begins at once, looks again soon and then once a report period, until it is stopped', async () => {
    const { metrics, clock, looks } = aMetrics()
    metrics.start()
    await expect.poll(() => metrics.host()).toEqual(host)
    clock.advance(SECOND_LOOK_MS)
    await expect.poll(() => looks).toHaveLength(2)
    clock.advance(TIMES.reportMs - 1)
    await new Promise(setImmediate)
    expect(looks).toHaveLength(2)
    clock.advance(1)
    await expect.poll(() => looks).toHaveLength(3)
    metrics.stop()
    clock.advance(10 * TIMES.reportMs)
    await new Promise(setImmediate)
    expect(looks).toEqual([['a'], ['a'], ['a']])
  })

  it('tells nothing that is too old, such as when a filesystem hangs', async () => {
    const { metrics, clock } = aMetrics()
    expect([metrics.host(), metrics.vm('a'), metrics.uplink()]).toEqual([undefined, undefined, ''])
    await metrics.measure()
    clock.advance(FRESH_MS)
    expect([metrics.host(), metrics.vm('a'), metrics.uplink()]).toEqual([host, vm, '192.0.2.9'])
    clock.advance(1)
    expect([metrics.host(), metrics.vm('a')]).toEqual([undefined, undefined])
  })

  it('goes on after a look that failed', async () => {
    const looks = [() => Promise.reject(new Error('EIO')), async () => host]
    const { metrics } = aMetrics({ host: { measure: () => looks.shift()!() } })
    await metrics.measure()
    expect(metrics.host()).toBeUndefined()
    await metrics.measure()
    expect(metrics.host()).toEqual(host)
  })
})
