import { describe, expect, it } from 'vitest'
import {
  busyPermille,
  bytesOf,
  cpuCounters,
  cpusOnline,
  processTimes,
  routedNetworks,
} from '../../../../src/agent/facts/proc-text.ts'

const STAT = `cpu  18369 0 9432 85123 402 0 110 40 0 0
cpu0 8748 0 4776 43091 94 0 18 19 0 0
cpu1 9620 0 4655 42031 307 0 92 20 0 0
intr 3829433 0 9
ctxt 8123001
`
const MEMINFO = `MemTotal:       24684084 kB
MemFree:        17096036 kB
MemAvailable:   18397612 kB
SwapTotal:             0 kB
HugePages_Total:       7
Hugepagesize:       2048 kB
`
const ROLLUP = `55bbc3bc4000-7ffd6df67000 ---p 00000000 00:00 0                          [rollup]
Rss:                1732 kB
Pss:                 194 kB
Pss_Dirty:           112 kB
`
const ROUTES = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT                                                       
eth0	00000000	010011AC	0003	0	0	0	00000000	0	0	0                                                                               
eth0	000011AC	00000000	0001	0	0	0	0000FFFF	0	0	0                                                                               
tun0	0000000A	00000000	0001	0	0	50	000000FF	0	0	0                                                                               
`
const processStat = (name: string, state = 'S') =>
  `4711 (${name}) ${state} 1 4711 4711 0 -1 4194304 98 0 0 0 1234 66 9000 9000 20 0 5 0 57079 3133440 392 18446744073709551615 1 1`

describe('CPU time of a host', () => {
  it('is busy by what went by between two looks, not since boot', () => {
    const before = cpuCounters('cpu  100 0 100 800 0 0 0 0 0 0\n')!
    const after = cpuCounters('cpu  125 0 125 950 0 0 0 0 0 0\n')!
    expect(busyPermille(before, after)).toBe(250)
  })

  it('counts waiting for a disk as idle and time an outer hypervisor took as busy', () => {
    const none = cpuCounters('cpu  0 0 0 0 0 0 0 0 0 0\n')!
    expect(busyPermille(none, cpuCounters('cpu  0 0 0 50 50 0 0 0 0 0\n')!)).toBe(0)
    expect(busyPermille(none, cpuCounters('cpu  0 0 0 50 0 0 0 50 0 0\n')!)).toBe(500)
  })

  it('does not count guest time twice: it is in user time already', () => {
    const none = cpuCounters('cpu  0 0 0 0 0 0 0 0 0 0\n')!
    expect(busyPermille(none, cpuCounters('cpu  50 0 0 50 0 0 0 0 50 0\n')!)).toBe(500)
  })

  it('takes a counter that went back for one that stood still', () => {
    const before = cpuCounters('cpu  100 0 0 500 300 0 0 0\n')!
    expect(busyPermille(before, cpuCounters('cpu  150 0 0 550 200 0 0 0\n')!)).toBe(500)
  })

  it('is unknown, not idle, when no time went by', () => {
    const counters = cpuCounters(STAT)!
    expect(busyPermille(counters, counters)).toBeUndefined()
  })

  it('is exact past what a double can hold', () => {
    const before = cpuCounters('cpu  9007199254740993 0 0 9007199254740993\n')!
    expect(busyPermille(before, cpuCounters('cpu  9007199254740994 0 0 9007199254740994\n')!)).toBe(500)
  })

  it('reads kernels with fewer counters, and nothing from text that has none', () => {
    expect(cpuCounters('cpu  1 2 3 4\n')).toEqual([1n, 2n, 3n, 4n])
    expect(cpuCounters(STAT)).toHaveLength(8)
    expect([cpuCounters(''), cpuCounters('cpu  1 2 3\n'), cpuCounters('cpu0 1 2 3 4\n')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect([cpusOnline(STAT), cpusOnline('')]).toEqual([2, undefined])
  })
})

describe('bytes in the files of /proc', () => {
  it('are kB times 1024', () => {
    expect(bytesOf(MEMINFO, 'MemTotal')).toBe(24684084n * 1024n)
    expect(bytesOf(ROLLUP, 'Pss')).toBe(194n * 1024n)
  })

  it('are zero only where the kernel says zero; a line that is missing or has no unit is no answer', () => {
    expect(bytesOf(MEMINFO, 'SwapTotal')).toBe(0n)
    expect([bytesOf(MEMINFO, 'SwapFree'), bytesOf(MEMINFO, 'HugePages_Total'), bytesOf('', 'Pss')]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('are not taken from a process that calls itself like a field', () => {
    expect(bytesOf('Name:\tVmRSS:\t1 kB\nVmRSS:\t    1764 kB\n', 'VmRSS')).toBe(1764n * 1024n)
  })
})

describe('CPU time of a process', () => {
  it.each(['qemu', 'qemu system', 'a) S 1 2 3', ')', '((', ''])('is read behind any command name: "%s"', (name) => {
    expect(processTimes(processStat(name))).toEqual({ startTime: '57079', cpuMs: 13000n })
  })

  it('is nothing for a zombie or text that is not whole', () => {
    expect(processTimes(processStat('qemu', 'Z'))).toBeUndefined()
    expect(processTimes('')).toBeUndefined()
    expect(processTimes(processStat('qemu').slice(0, 60))).toBeUndefined()
  })
})

describe('networks of a routing table', () => {
  it('are all but the default, with the interface they lie behind', () => {
    expect(routedNetworks(ROUTES)).toEqual([
      { device: 'eth0', cidr: '172.17.0.0/16' },
      { device: 'tun0', cidr: '10.0.0.0/8' },
    ])
    expect(routedNetworks('')).toEqual([])
    expect(routedNetworks('Iface\nnonsense\n')).toEqual([])
  })
})
