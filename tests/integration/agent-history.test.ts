import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HistorySample } from '../../src/ipc/gen/eitri/agent/v1/history_pb.js'
import { GuestHost } from '../support/guest-host.ts'
import { netNamespaceImpossible } from '../support/net-namespace.ts'

const MIB = 1024n ** 2n
/** Until what was measured next is kept. */
const KEPT = { timeout: 40_000, interval: 1_000 }

/** Bytes of so many steps of rates. */
const sumOf = (samples: readonly HistorySample[], of: (sample: HistorySample) => bigint | undefined, stepS: number) =>
  samples.reduce((sum, sample) => sum + (of(sample) ?? 0n) * BigInt(stepS), 0n)

describe.skipIf(netNamespaceImpossible())('what an agent keeps of a host and its guests', { timeout: 120_000 }, () => {
  let host: GuestHost
  let vm: string

  beforeAll(async () => {
    host = await GuestHost.open({ flags: ['--bridge-cidr', '10.213.0.0/24'] })
    vm = await host.create('web')
    await host.runningWith(vm)
    await host.prompt(vm)
  }, 120_000)
  afterAll(() => host?.[Symbol.asyncDispose]())

  const metrics = async () =>
    (await host.report(({ vms }) => vms.some(({ metrics }) => metrics?.netTxBytes !== undefined))).vms[0]!.metrics!

  it('has the disk writes of a guest and what it sent, in its counters and in its history', async () => {
    const before = await metrics()
    await host.guest(vm, 'dd if=/dev/urandom of=/data/written bs=1M count=12 && sync')
    await host.guest(vm, 'ping -c 20 -i 0.1 -s 1400 -W 5 10.213.0.1')
    await expect
      .poll(async () => {
        const after = await metrics()
        return [
          after.diskWrittenBytes! - before.diskWrittenBytes! >= 12n * MIB,
          after.netTxBytes! - before.netTxBytes! >= 28_000n,
          after.netRxBytes! - before.netRxBytes! >= 28_000n,
        ]
      }, KEPT)
      .toEqual([true, true, true])
    await expect
      .poll(async () => {
        const { samples, stepS } = await host.history(vm)
        return [
          sumOf(samples, ({ diskWriteBps }) => diskWriteBps, stepS) >= 11n * MIB,
          sumOf(samples, ({ netTxBps }) => netTxBps, stepS) >= 27_000n,
          samples.every(({ memUsedBytes = 0n }) => memUsedBytes > 16n * MIB),
          samples.some(({ cpuBusyPermille = 0 }) => cpuBusyPermille > 0),
        ]
      }, KEPT)
      .toEqual([true, true, true, true])
  })

  it('has the host itself', async () => {
    const { samples, stepS } = await host.history()
    expect(stepS).toBe(10)
    expect(samples.length).toBeGreaterThanOrEqual(2)
    const last = samples.at(-1)!
    expect([last.memUsedBytes! > 0n, last.diskUsedBytes! > 0n, last.cpuBusyPermille !== undefined]).toEqual([
      true,
      true,
      true,
    ])
  })

  it('is there again after the agent ended and was started anew', async () => {
    await host.end('SIGTERM')
    expect(existsSync(join(host.agent.stateDir, 'vms', vm, 'history.bin'))).toBe(true)
    await host.start()
    await expect
      .poll(
        async () => sumOf((await host.history(vm)).samples, ({ diskWriteBps }) => diskWriteBps, 60) >= 11n * MIB,
        KEPT,
      )
      .toBe(true)
  })

  it('tells the command line of its hypervisor as it runs', async () => {
    const shown = await host.command(vm)
    const real = readFileSync(`/proc/${shown.pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    expect(shown.parts.filter(({ where }) => where !== 'next').flatMap(({ args }) => args)).toEqual(real)
    expect(shown).toMatchObject({ backend: 'qemu', runsKnown: true, nextUnknown: '' })
  })

  it('goes with the VM', async () => {
    await host.purge(vm)
    await expect(host.history(vm)).rejects.toThrow()
    expect(existsSync(join(host.agent.stateDir, 'vms', vm))).toBe(false)
  })
})
