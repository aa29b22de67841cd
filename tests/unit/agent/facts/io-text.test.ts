import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostMeter } from '../../../../src/agent/facts/host-meter.ts'
import { diskFlows, nicFlows, processFlow, sumOf } from '../../../../src/agent/facts/io-text.ts'
import { VmMeter } from '../../../../src/agent/facts/vm-meter.ts'

const DISKSTATS = `   7       0 loop0 973 17 31860 256 0 0 0 0 0 11504 59387 0 0 0 0 3079 8166
 259       0 nvme0n1 10 0 2000 5 20 0 4000 5 0 8 10 0 0 0 0
 259       1 nvme0n1p1 10 0 2000 5 20 0 4000 5 0 8 10 0 0 0 0
 253       0 dm-0 10 0 2000 5 20 0 4000 5 0 8 10 0 0 0 0
   8       0 sda 1 0 8 5 0 0 0 0 0 0 0
`
const NET_DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     900       9    0    0    0     0          0         0      900       9    0    0    0     0       0          0
  eth0:    5000      10    0    0    0     0          0         0     7000      20    0    0    0     0       0          0
eitri0:    5000      10    0    0    0     0          0         0     7000      20    0    0    0     0       0          0
eitri-0123456:     120       2    0    0    0     0          0         0     340       4    0    0    0     0       0          0
`

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'eitri-io-'))
  put('proc/diskstats', DISKSTATS)
  put('proc/net/dev', NET_DEV)
})
afterEach(() => rmSync(root, { recursive: true }))

function put(path: string, text = '') {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text)
}

const aHostMeter = () =>
  new HostMeter({ stateDir: root, uptimeMs: () => 1000, proc: join(root, 'proc'), sys: join(root, 'sys') })

describe('bytes through disks and network cards', () => {
  it('are sectors of 512 in diskstats, and read from their columns everywhere', () => {
    expect(diskFlows(DISKSTATS).get('nvme0n1')).toEqual({ inBytes: 1_024_000n, outBytes: 2_048_000n })
    expect(nicFlows(NET_DEV).get('eth0')).toEqual({ inBytes: 5000n, outBytes: 7000n })
    expect(nicFlows('eth1:99 1 0 0 0 0 0 0 88 1').get('eth1')).toEqual({ inBytes: 99n, outBytes: 88n })
    expect(processFlow('rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n')).toEqual({ inBytes: 4096n, outBytes: 8192n })
  })

  it('are not known where the kernel says nothing, which is not zero', () => {
    expect([processFlow(''), sumOf([]), diskFlows('').size, nicFlows('no such file').size]).toEqual([
      undefined,
      undefined,
      0,
      0,
    ])
  })
})

describe('what a host takes', () => {
  it('goes through its hardware: no partition, mapping, loop, bridge or tap counts the same bytes again', async () => {
    for (const device of ['block/nvme0n1', 'block/sda', 'class/net/eth0']) put(`sys/${device}/device`)
    expect(await aHostMeter().measure()).toMatchObject({
      ...{ diskReadBytes: 1_028_096n, diskWrittenBytes: 2_048_000n },
      ...{ netRxBytes: 5000n, netTxBytes: 7000n },
    })
  })

  it('is absent where it has no hardware of its own to tell of, as in a container', async () => {
    const { diskReadBytes, netTxBytes } = await aHostMeter().measure()
    expect([diskReadBytes, netTxBytes]).toEqual([undefined, undefined])
  })
})

describe('what a VM takes', () => {
  const meter = (taps: string[]) => new VmMeter({ monotonic: () => 0, proc: join(root, 'proc'), tapsOf: () => taps })
  const aVm = { id: 'a', dir: '/nowhere', process: { pid: 7, startTime: '500', bootId: 'b' } }
  beforeEach(() => put('proc/7/stat', `7 (qemu) S 1 1 1 0 -1 4194304 0 0 0 0 1 0 ${'0 '.repeat(6)}500 1 1\n`))

  it('is what its process made storage do, and what its taps carried, as the guest sees it', async () => {
    put('proc/7/io', 'read_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n')
    const vms = meter(['eitri-0123456', 'eil-none'])
    await vms.measure([aVm])
    expect(vms.of('a')).toMatchObject({
      diskReadBytes: 4096n,
      diskWrittenBytes: 8192n,
      netRxBytes: 340n,
      netTxBytes: 120n,
    })
  })

  it('is absent for a guest in user mode, for a process whose I/O may not be read, and once it does not run', async () => {
    const vms = meter(['eitri-ffffff'])
    await vms.measure([aVm])
    expect([vms.of('a')?.netRxBytes, vms.of('a')?.diskReadBytes]).toEqual([undefined, undefined])
    put('proc/7/io', 'read_bytes: 4096\nwrite_bytes: 8192\n')
    await vms.measure([aVm])
    expect(vms.of('a')?.diskReadBytes).toBe(4096n)
    await vms.measure([{ ...aVm, process: undefined }])
    expect(vms.of('a')?.diskReadBytes).toBeUndefined()
  })
})
