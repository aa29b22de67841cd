import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { toConnectError } from '../../../src/ipc/fault-wire.ts'
import { Fault } from '../../../src/ipc/faults.ts'
import type { MetricsService } from '../../../src/ipc/gen/eitri/fleet/v1/metrics_pb.js'
import type { FakeFleet } from './fake-fleet.ts'

const MIN = 60_000
/** When the host of the fake history was off, ms ago. */
const OFF = { from: 31 * MIN, to: 18 * MIN }
const GB = 1e9

/** A wave of noise that is the same at each look. */
const wave = (t: number, periodMin: number, seed = 1) =>
  0.5 +
  0.3 * Math.sin(t / MIN / periodMin) +
  0.2 * Math.sin(t / MIN / (periodMin / 3.7) + seed) * Math.cos(t / 7e4 + seed)

/** History as an agent would keep it: one gap, a clock that jumped in the VM that is behind, no cards in user mode. */
export const fakeHistory = (fleet: FakeFleet): ServiceImpl<typeof MetricsService> => ({
  getHistory: ({ host: hostRef, vm: vmRef, spanS, samples }) => {
    try {
      const vm = vmRef === '' ? undefined : fleet.vm(vmRef)
      const host = fleet.host(vm?.hostId ?? hostRef)
      if (host.link !== 'connected') throw new Fault('host/no-answer', 'transient', { host: host.name })
      const span = (spanS || 3600) * 1000
      const base = span <= 3_600_000 ? 10_000 : MIN
      const step = base * Math.max(1, Math.ceil(span / base / (samples || 360)))
      const now = Date.now()
      const steps = Array.from(
        { length: Math.floor(span / step) },
        (_, i) => (Math.floor(now / step) - Math.floor(span / step) + 1 + i) * step,
      )
      const isOff = (at: number) => now - at < OFF.from && now - at > OFF.to
      const offset = Number(vm?.clock?.offsetUs ?? host.clock?.offsetUs ?? 0n)
      return {
        stepS: step / 1000,
        samples: steps
          .filter((at) => !isOff(at))
          .map((at) => ({
            at: timestampFromMs(at),
            cpuBusyPermille: Math.round((vm ? 900 * Math.max(1, vm.vcpus) : 420) * wave(at, 9)),
            memUsedBytes: BigInt(Math.round((vm ? vm.memMb * 1048576 * 0.8 : 39 * GB) * (0.85 + 0.15 * wave(at, 40)))),
            diskUsedBytes: BigInt(12 * GB),
            diskReadBps: BigInt(Math.round(4e6 * wave(at, 5, 2) ** 3)),
            diskWriteBps: BigInt(Math.round(11e6 * wave(at, 7, 3) ** 2)),
            ...(vm && vm.ip === '' ? {} : { netRxBps: BigInt(Math.round(8e5 * wave(at, 4, 4) ** 2)) }),
            ...(vm && vm.ip === '' ? {} : { netTxBps: BigInt(Math.round(2.6e6 * wave(at, 6, 5) ** 2)) }),
            ...(vm && !vm.clock?.source ? {} : { clockOffsetUs: clockAt(offset, now - at) }),
          })),
      }
    } catch (error) {
      throw toConnectError(error)
    }
  },
})

/** What is far off now jumped when the host came back. */
const clockAt = (offset: number, agoMs: number): bigint =>
  BigInt(
    Math.round(
      Math.abs(offset) > 1e6 && agoMs > OFF.to ? 900 * wave(agoMs, 11) : offset * (0.8 + 0.4 * wave(agoMs, 11)),
    ),
  )
