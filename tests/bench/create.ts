import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fleetClient } from '../../src/main/fleet-client.ts'
import { BareGuest } from '../support/bare-guest.ts'
import { ConsoleViewer } from '../support/console-client.ts'
import { Desktop } from '../support/eitri.ts'
import { tinyImageFile } from '../support/tiny-image.ts'
import { type BenchResult, median, quantile, result } from './measure.ts'

const RUNS = 5
const WARM_UPS = 3
const VMM_RUNS = 30
const LOOK_MS = 2
const PROMPT = /:~# /
const WAIT_MS = 120_000
const GONE_MS = 60_000

interface Times {
  firstByte: number
  prompt: number
}

/** From the create call to the console, through the control plane, the agent of this computer and `/console`. */
async function created(desktop: Desktop, name: string): Promise<Times & { seed: string }> {
  const { vms } = fleetClient(desktop.apiSocket)
  const start = performance.now()
  const { vm } = await vms.createVm({ name, image: 'tiny' })
  if (!vm) throw new Error('no VM was created')
  await using viewer = new ConsoleViewer(() => desktop.apiSocket, vm.id)
  await viewer.waitFor(/[\s\S]/, WAIT_MS)
  const firstByte = performance.now() - start
  await viewer.waitFor(PROMPT, WAIT_MS)
  const prompt = performance.now() - start
  const seed = seedOf(desktop, vm.id)
  await vms.deleteVm({ vm: vm.id })
  await vms.purgeVm({ vm: vm.id })
  await gone(desktop, vm.id)
  return { firstByte, prompt, seed }
}

/** A copy of the VM's seed, so that the bare guest has the same work to do. */
function seedOf(desktop: Desktop, vmId: string): string {
  const state = join(desktop.dataDir, 'agent')
  const path = (readdirSync(state, { recursive: true }) as string[]).find(
    (p) => p.includes(vmId) && p.endsWith('seed.iso'),
  )
  if (!path) throw new Error(`no seed of ${vmId} under ${state}`)
  const copy = join(desktop.home, `${vmId}.iso`)
  copyFileSync(join(state, path), copy)
  return copy
}

/** The next run must not share the machine with the last one's guest. */
async function gone(desktop: Desktop, vmId: string): Promise<void> {
  const { fleet } = fleetClient(desktop.apiSocket)
  const running = () => desktop.processes().some(({ argv }) => argv.some((word) => word.includes(vmId)))
  for await (const _ of fleet.watchFleet({}, { timeoutMs: GONE_MS })) if (!running()) return
}

/** The same guest with the same seed and a disk as new, started by QEMU alone. */
async function bare(dir: string, seed: string): Promise<Times> {
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', join(dir, 'disk.qcow2'), '1G'])
  await using guest = new BareGuest({ dir, disk: 'disk.qcow2', seed })
  await guest.until(PROMPT, 0, WAIT_MS)
  return { firstByte: guest.firstByteMs, prompt: performance.now() - guest.startedAt }
}

/** ms until a process whose command line names `text` runs; every look reads /proc. */
async function untilRuns(text: string, since: number): Promise<number> {
  for (;;) {
    for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid) && isVmm(pid, text)) return performance.now() - since
    await delay(LOOK_MS)
  }
}

function isVmm(pid: string, text: string): boolean {
  try {
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
    return argv.startsWith('qemu-system') && argv.includes(text)
  } catch {
    return false
  }
}

/** create_to_vmm: from the create call until QEMU runs, beside making a disk and starting QEMU by hand; the 95th of 100. */
export async function benchCreateToVmm(say: (line: string) => void): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-bench-'))
  const desktop = new Desktop()
  try {
    execFileSync('tar', ['-xf', await tinyImageFile(), '-C', dir])
    await desktop.start()
    await desktop.must(['host', 'add', 'here', '--local'], { timeoutMs: WAIT_MS })
    await desktop.must(['image', 'build-tiny'], { timeoutMs: WAIT_MS })
    const { vms } = fleetClient(desktop.apiSocket)
    const ours: number[] = []
    const theirs: number[] = []
    for (let run = 0; run < WARM_UPS + VMM_RUNS; run++) {
      const start = performance.now()
      const { vm } = await vms.createVm({ name: `run-${run}`, image: 'tiny' })
      const mine = await untilRuns(`guest=${vm!.id}`, start)
      const seed = seedOf(desktop, vm!.id)
      await vms.deleteVm({ vm: vm!.id })
      await vms.purgeVm({ vm: vm!.id })
      await gone(desktop, vm!.id)
      const reference = await bareStart(dir, seed)
      if (run >= WARM_UPS) ours.push(mine) && theirs.push(reference)
    }
    say(`create to VMM: p50 ${Math.round(median(ours))} ms, most ${Math.round(Math.max(...ours))} ms`)
    const reference = { what: 'qemu-img create and qemu alone, p95', value: quantile(theirs, 0.95) }
    return [result('create_to_vmm', 'ms', [quantile(ours, 0.95), reference], { valueAtMost: 400 })]
  } finally {
    await desktop.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function bareStart(dir: string, seed: string): Promise<number> {
  const start = performance.now()
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', join(dir, 'disk.qcow2'), '1G'])
  await using _ = new BareGuest({ dir, disk: 'disk.qcow2', seed })
  return await untilRuns(seed, start)
}

/** create_to_first_byte and create_to_prompt, each run beside a run of its reference. */
export async function benchCreate(say: (line: string) => void): Promise<BenchResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'eitri-bench-'))
  const desktop = new Desktop()
  try {
    execFileSync('tar', ['-xf', await tinyImageFile(), '-C', dir])
    await desktop.start()
    await desktop.must(['host', 'add', 'here', '--local'], { timeoutMs: WAIT_MS })
    await desktop.must(['image', 'build-tiny'], { timeoutMs: WAIT_MS })
    const ours: Times[] = []
    const theirs: Times[] = []
    for (let run = 0; run <= RUNS; run++) {
      const mine = await created(desktop, `run-${run}`)
      const reference = await bare(dir, mine.seed)
      say(`create ${run}: prompt after ${Math.round(mine.prompt)} ms, bare ${Math.round(reference.prompt)} ms`)
      // the first warms caches
      if (run > 0) ours.push(mine) && theirs.push(reference)
    }
    const of = (key: keyof Times): [number, { what: string; value: number }] => [
      median(ours.map((times) => times[key])),
      { what: 'qemu alone, same guest and seed', value: median(theirs.map((times) => times[key])) },
    ]
    return [
      result('create_to_first_byte', 'ms', of('firstByte'), { atMost: 1.2 }),
      result('create_to_prompt', 'ms', of('prompt'), { atMost: 1.2 }),
    ]
  } finally {
    await desktop.close()
    rmSync(dir, { recursive: true, force: true })
  }
}
