import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DISKS_PER_TICK, type MeteredVm, PSS_PER_TICK, VmMeter } from '../../../../src/agent/facts/vm-meter.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'

let root: string
let now: number
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'eitri-meter-'))
  now = 0
})
afterEach(() => rmSync(root, { recursive: true }))

const MEMORY = { rss: 2048, pss: 1024 }

/** A process in a /proc of our own; ticks are hundredths of a second. */
function aProcess(pid: number, ticks: number, memory: Partial<typeof MEMORY> = MEMORY, startTime = '500') {
  const dir = join(root, 'proc', String(pid))
  mkdirSync(dir, { recursive: true })
  const filler = '0 '.repeat(6)
  writeFileSync(join(dir, 'stat'), `${pid} (qemu) S 1 1 1 0 -1 4194304 0 0 0 0 ${ticks} 0 ${filler}${startTime} 1 1\n`)
  writeFileSync(join(dir, 'status'), memory.rss === undefined ? '' : `Name:\tqemu\nVmRSS:\t${memory.rss} kB\n`)
  if (memory.pss !== undefined) writeFileSync(join(dir, 'smaps_rollup'), `Pss: ${memory.pss} kB\n`)
}

function aVm(n: number, { running = true, startTime = '500' } = {}): MeteredVm {
  const dir = join(root, 'vms', String(n))
  mkdirSync(dir, { recursive: true })
  return { id: String(n), dir, process: running ? { pid: n, startTime, bootId: 'b' } : undefined }
}

const aMeter = () => new VmMeter({ monotonic: () => now, proc: join(root, 'proc') })

describe('what a VM takes of its host', () => {
  it('is CPU time at the first look, and a share of one CPU from the second on', async () => {
    const meter = aMeter()
    aProcess(7, 100)
    await meter.measure([aVm(7)])
    expect(meter.of('7')).toMatchObject({ cpuTimeMs: 1000n, rssBytes: 2097152n, pssBytes: 1048576n })
    expect(meter.of('7')?.cpuBusyPermille).toBeUndefined()
    aProcess(7, 2100)
    now += 10_000
    await meter.measure([aVm(7)])
    expect(meter.of('7')).toMatchObject({ cpuTimeMs: 21_000n, cpuBusyPermille: 2000 })
  })

  it('is the blocks its files really take, stopped or not', async () => {
    const meter = aMeter()
    const vm = aVm(7, { running: false })
    writeFileSync(join(vm.dir, 'disk.qcow2'), Buffer.alloc(64 * 1024, 1))
    truncateSync(join(vm.dir, 'disk.qcow2'), 1024 ** 3)
    await meter.measure([vm])
    const { cpuTimeMs, rssBytes, diskUsedBytes } = meter.of('7')!
    expect([cpuTimeMs, rssBytes]).toEqual([undefined, undefined])
    expect(diskUsedBytes).toBeGreaterThanOrEqual(64n * 1024n)
    expect(diskUsedBytes).toBeLessThan(1024n ** 2n)
  })

  it('is not that of another process with its pid', async () => {
    const meter = aMeter()
    aProcess(7, 100, MEMORY, '999')
    await meter.measure([aVm(7)])
    expect(meter.of('7')).toEqual(expect.objectContaining({ diskUsedBytes: expect.any(BigInt) }))
    expect(meter.of('7')?.rssBytes).toBeUndefined()
  })

  it('starts afresh with a new process: no share across a restart, no memory of the old one', async () => {
    const meter = aMeter()
    aProcess(7, 9000)
    await meter.measure([aVm(7)])
    aProcess(7, 9500, { rss: 100 }, '600')
    rmSync(join(root, 'proc/7/smaps_rollup'))
    now += 10_000
    await meter.measure([aVm(7, { startTime: '600' })])
    expect(meter.of('7')).toMatchObject({ cpuTimeMs: 95_000n, rssBytes: 102_400n })
    expect([meter.of('7')?.cpuBusyPermille, meter.of('7')?.pssBytes]).toEqual([undefined, undefined])
  })

  it('loses what a process that ended took, and keeps its disk', async () => {
    const meter = aMeter()
    aProcess(7, 100)
    await meter.measure([aVm(7)])
    rmSync(join(root, 'proc/7'), { recursive: true })
    await meter.measure([aVm(7)])
    const { cpuTimeMs, rssBytes, pssBytes, diskUsedBytes } = meter.of('7')!
    expect([cpuTimeMs, rssBytes, pssBytes]).toEqual([undefined, undefined, undefined])
    expect(diskUsedBytes).toBeDefined()
  })

  it('is known where the kernel keeps no smaps, only without shared pages', async () => {
    const meter = aMeter()
    aProcess(7, 100, { rss: 2048 })
    await meter.measure([aVm(7)])
    expect(meter.of('7')?.rssBytes).toBe(2097152n)
    expect(meter.of('7')?.pssBytes).toBeUndefined()
  })

  it('is unknown, not zero, for a VM whose directory and process are gone, and forgotten with the VM', async () => {
    const meter = aMeter()
    const vm = aVm(7)
    rmSync(vm.dir, { recursive: true })
    await meter.measure([vm])
    expect(meter.of('7')).toBeUndefined()
    aProcess(7, 1)
    await meter.measure([vm])
    expect(meter.of('7')).toBeDefined()
    await meter.measure([])
    expect(meter.of('7')).toBeUndefined()
  })

  it('goes round: what is costly is looked at for so many VMs a tick, and for every VM in the end', async () => {
    const meter = aMeter()
    const vms = Array.from({ length: DISKS_PER_TICK * 2 }, (_, i) => aVm(i + 2))
    for (const { process } of vms) aProcess(process!.pid, 1)
    const knows = (what: 'diskUsedBytes' | 'pssBytes' | 'rssBytes') =>
      vms.filter(({ id }) => meter.of(id)?.[what] !== undefined).length
    await meter.measure(vms)
    expect([knows('rssBytes'), knows('diskUsedBytes'), knows('pssBytes')]).toEqual([
      vms.length,
      DISKS_PER_TICK,
      PSS_PER_TICK,
    ])
    await meter.measure(vms)
    expect([knows('diskUsedBytes'), knows('pssBytes')]).toEqual([vms.length, PSS_PER_TICK * 2])
  })

  it('stops counting shared pages for this tick once that has taken its time', async () => {
    const meter = new VmMeter({ monotonic: () => (now += 60), proc: join(root, 'proc') })
    const vms = Array.from({ length: 5 }, (_, i) => aVm(i + 2))
    for (const { process } of vms) aProcess(process!.pid, 1)
    await meter.measure(vms)
    expect(vms.filter(({ id }) => meter.of(id)?.pssBytes !== undefined)).toHaveLength(1)
  })

  it('is real for a process of this machine', async () => {
    const child = spawn(process.execPath, ['-e', 'let n = 0; while (true) n++'], { stdio: 'ignore' })
    try {
      const meter = new VmMeter({ monotonic: () => performance.now() })
      const vm = { ...aVm(7), process: linuxProcesses().identify(child.pid!) }
      const spent = async () => {
        await meter.measure([vm])
        return meter.of('7')?.cpuTimeMs ?? 0n
      }
      await expect.poll(spent, { timeout: 20_000 }).toBeGreaterThan(0n)
      expect(meter.of('7')?.rssBytes).toBeGreaterThan(1024n ** 2n)
      expect(meter.of('7')?.pssBytes).toBeGreaterThan(0n)
    } finally {
      child.kill('SIGKILL')
    }
  })
})
