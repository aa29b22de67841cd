import { spawn } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Backend } from '../../../src/agent/backends/backend.ts'
import { onHit } from '../../../src/agent/os/failpoints.ts'
import { readRange } from '../../../src/agent/os/files.ts'
import { linuxProcesses, type Processes } from '../../../src/agent/os/process.ts'
import { agentLayout, type VmLayout } from '../../../src/agent/records/layout.ts'
import { type BackendUnderTest, bootFirst, live, SPEC, VM_ID } from './boot-first.ts'

export interface Change {
  /** What the backend is told of processes. */
  processes?: Processes
  /** The hypervisor program. */
  program?: string
}

export interface ProcessUnderTest extends BackendUnderTest {
  /** Another backend object on the same host, as after a restart of the agent. It is closed with the first. */
  open(change?: Change): Backend
  /** File that holds pid, start_time and boot_id of the VM's process. */
  note(vm: VmLayout): string
  /** The next process of this VM prints the text on stderr and dies at once. */
  failStart(vm: VmLayout, text: string): Promise<void>
  /** What the guest does when its power button is pressed. Undefined = the guests of this backend cannot be told. */
  guest?(vm: VmLayout, manner: 'polite' | 'deaf'): Promise<void>
}

interface Note {
  pid: number
  start_time: string
  boot_id: string
}

/** Pids whose working directory is the VM's: its hypervisors, whoever started them. */
export async function pidsIn(dir: string): Promise<number[]> {
  const processes = linuxProcesses()
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  return pids.filter((pid) => processes.identify(pid) && processes.cwd(pid) === dir)
}

const calm = () => new AbortController().signal
const atOnce = () => ({ graceMs: 0, hurry: calm() })

/** What every backend promises whose guests are processes of this host. */
export function processContract(name: string, open: () => Promise<ProcessUnderTest>): void {
  describe(`processes of backend: ${name}`, () => {
    let under: ProcessUnderTest
    let vm: VmLayout
    beforeEach(async () => {
      under = await open()
      vm = agentLayout(under.stateDir).vmDir(VM_ID)
      await mkdir(vm.dir, { recursive: true })
    })
    afterEach(async () => {
      onHit(undefined)
      await under.open().destroy(vm)
      await under.close()
      await rm(under.stateDir, { recursive: true, force: true })
    })
    const boot = () => bootFirst(under, vm)
    const again = (backend: Backend) => backend.boot({ vm, spec: SPEC, image: under.image, machine: '' }, live())
    const pidfile = () => (under.backend.files?.(vm) ?? vm).pidfile
    const noted = async () => JSON.parse(await readFile(under.note(vm), 'utf8')) as Note
    const denote = async (change: Partial<Note>) =>
      await writeFile(under.note(vm), JSON.stringify({ ...(await noted()), ...change }))

    it('a missing program is said before anything costly, and is permanent', async () => {
      await expect(under.open({ program: '/nowhere/vmm' }).preflight(live())).rejects.toMatchObject({
        code: 'vmm/missing',
        disposition: 'permanent',
      })
    })

    it('however many ask at once, what the host has is looked at once', async () => {
      let runs = 0
      onHit((point, phase) => {
        if (point.includes('.ask-') && phase === 'before') runs++
      })
      const backend = under.open()
      await backend.preflight(live())
      const once = runs
      runs = 0
      const other = under.open()
      await Promise.all(Array.from({ length: 40 }, () => other.preflight(live())))
      expect(once).toBeGreaterThan(0)
      expect(runs).toBe(once)
    })

    it('a root disk is put in place whole, over what an unfinished create left', async () => {
      await writeFile(under.disk(vm), 'half a disk')
      await under.backend.prepareRootDisk(vm, SPEC, under.image, live())
      expect((await readRange(under.disk(vm), 0, 11)).toString()).not.toBe('half a disk')
      const beside = await readdir(vm.dir)
      expect(beside.filter((file) => file.endsWith('.tmp'))).toEqual([])
      expect(beside).toContain(basename(under.disk(vm)))
    })

    it('boot twice, one after the other or from two agents, makes one process', async () => {
      const { startedAt } = await boot()
      expect((await again(under.backend)).startedAt).toEqual(startedAt)
      expect((await again(under.open())).startedAt).toEqual(startedAt)
      expect(await pidsIn(vm.dir)).toEqual([(await noted()).pid])
    })

    it('a guest runs on when its agent lets go, and the next one finds it, as the record says', async () => {
      const { startedAt } = await boot()
      await under.backend.close()
      const next = under.open()
      expect((await next.running(vm)) !== undefined).toBe(next.capabilities.survivesAgentRestart)
      expect(await next.running(vm)).toMatchObject({ startedAt })
      await next.shutdown(vm, atOnce(), live())
      expect(await pidsIn(vm.dir)).toEqual([])
    })

    it('an agent that died before its note still finds the process', async () => {
      await boot()
      await rm(under.note(vm))
      expect(await under.open().running(vm)).toBeDefined()
    })

    it('its process is found again whatever became of its note, and is ended with it', async () => {
      await boot()
      const [pid] = await pidsIn(vm.dir)
      await writeFile(under.note(vm), 'junk')
      await rm(pidfile(), { force: true })
      expect(await under.open().running(vm)).toBeDefined()
      await again(under.open())
      expect(await pidsIn(vm.dir)).toEqual([pid])
      await writeFile(under.note(vm), 'junk')
      await rm(pidfile(), { force: true })
      await under.open().destroy(vm)
      expect(await pidsIn(vm.dir)).toEqual([])
    })

    it('its process is found and ended when its directory was removed under it', async () => {
      await boot()
      const { pid } = await noted()
      await rm(vm.dir, { recursive: true, maxRetries: 20 })
      const next = under.open()
      expect(await next.running(vm)).toBeDefined()
      await next.destroy(vm)
      expect(linuxProcesses().identify(pid)).toBeUndefined()
    })

    it('a note of another VM leads to nothing of that VM', async () => {
      await boot()
      const { pid } = await noted()
      const other = agentLayout(under.stateDir).vmDir('f'.repeat(32))
      await mkdir(other.dir, { recursive: true })
      await copyFile(under.note(vm), under.note(other))
      const next = under.open()
      expect(await next.running(other)).toBeUndefined()
      await next.shutdown(other, atOnce(), live())
      await next.destroy(other)
      expect(linuxProcesses().identify(pid)).toBeDefined()
      await rm(other.dir, { recursive: true })
    })

    it('a process that only stands in the directory of the VM is left alone, whatever the files say of it', async () => {
      const shell = spawn('/bin/sleep', ['600'], { cwd: vm.dir })
      const { pid, startTime, bootId } = linuxProcesses().identify(shell.pid!)!
      const rest = { started_at: new Date(0).toISOString(), acceleration: 'tcg', machine: 'x' }
      await writeFile(under.note(vm), JSON.stringify({ pid, start_time: startTime, boot_id: bootId, ...rest }))
      await writeFile(pidfile(), `${pid}\n`)
      const next = under.open()
      expect(await next.running(vm)).toBeUndefined()
      await next.destroy(vm)
      expect(linuxProcesses().identify(pid)).toBeDefined()
      shell.kill('SIGKILL')
    })

    it('an agent killed right after it started the process leaves one that the next agent takes up', async () => {
      let killed = false
      onHit((point, phase) => {
        killed ||= point.endsWith('.spawn') && phase === 'after'
        if (killed) throw new Error('killed')
      })
      await expect(boot()).rejects.toThrow('killed')
      onHit(undefined)
      const left = await pidsIn(vm.dir)
      expect(left).toHaveLength(1)
      await again(under.open())
      expect(await pidsIn(vm.dir)).toEqual(left)
    })

    it('a process of an earlier boot of the host is not signalled', async () => {
      const foreign = spawn('/bin/sleep', ['600'])
      const pid = foreign.pid!
      await writeFile(under.note(vm), JSON.stringify({ ...other(pid), boot_id: 'an-earlier-boot' }))
      await under.open().destroy(vm)
      expect(linuxProcesses().identify(pid)).toBeDefined()
      foreign.kill('SIGKILL')
    })

    it('another process that has its pid now is not signalled', async () => {
      await boot()
      await under.kill(vm)
      await expect.poll(() => pidsIn(vm.dir)).toEqual([])
      await denote({ pid: process.pid })
      const next = under.open()
      expect(await next.running(vm)).toBeUndefined()
      await next.shutdown(vm, atOnce(), live())
      await next.destroy(vm)
      expect(linuxProcesses().identify(process.pid)).toBeDefined()
    })

    it('a process that may not be killed is an error, and stays noted', async () => {
      await boot()
      const { pid } = await noted()
      const refuse = () => {
        throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
      }
      const powerless = under.open({ processes: linuxProcesses('/proc', refuse) })
      await expect(powerless.destroy(vm)).rejects.toMatchObject({ code: 'vm/stop-failed' })
      expect((await noted()).pid).toBe(pid)
      expect(await under.backend.running(vm)).toBeDefined()
    })

    it('destroy leaves no process, and nothing outside the directory of the VM', async () => {
      const before = await readdir(under.stateDir)
      await boot()
      await under.backend.destroy(vm)
      await under.backend.destroy(vm)
      expect(await pidsIn(vm.dir)).toEqual([])
      expect(await readdir(under.stateDir)).toEqual(before)
      expect(await readdir(dirname(vm.dir))).toEqual([basename(vm.dir)])
    })

    it('an end is told once, whoever ended the guest', async () => {
      const ended: string[] = []
      under.backend.onExit((vmId) => ended.push(vmId))
      await boot()
      await under.backend.shutdown(vm, atOnce(), live())
      await expect.poll(() => ended, { timeout: 10_000 }).toEqual([VM_ID])
      await again(under.backend)
      await under.backend.running(vm)
      await under.kill(vm)
      await expect.poll(() => ended, { timeout: 10_000 }).toEqual([VM_ID, VM_ID])
      await under.backend.destroy(vm)
      expect(ended).toEqual([VM_ID, VM_ID])
    })

    it('a hypervisor that dies at its start fails the boot in its own words, and leaves nothing running', async () => {
      await boot()
      await under.backend.shutdown(vm, atOnce(), live())
      await under.failStart(vm, 'no memory left for this guest')
      await expect(again(under.backend)).rejects.toMatchObject({
        code: 'vm/start-failed',
        params: { detail: expect.stringContaining('no memory left for this guest') },
      })
      expect(await under.backend.failureReason(vm)).toContain('no memory left for this guest')
      expect(await pidsIn(vm.dir)).toEqual([])
    })

    it('a guest that hears its power button ends by itself', async () => {
      if (!under.guest) return
      await boot()
      await under.guest(vm, 'polite')
      await under.backend.shutdown(vm, { graceMs: 60_000, hurry: calm() }, live())
      expect(await pidsIn(vm.dir)).toEqual([])
    })

    it('a guest that does not is ended after its grace, or at once when there is no time', async () => {
      await boot()
      await under.guest?.(vm, 'deaf')
      await under.backend.shutdown(vm, { graceMs: 300, hurry: calm() }, live())
      expect(await pidsIn(vm.dir)).toEqual([])
      await again(under.backend)
      await under.backend.shutdown(vm, { graceMs: 600_000, hurry: AbortSignal.abort() }, live())
      expect(await pidsIn(vm.dir)).toEqual([])
    })
  })
}

function other(pid: number): Note & Record<string, unknown> {
  const startTime = linuxProcesses().identify(pid)!.startTime
  const rest = { started_at: new Date(0).toISOString(), acceleration: 'tcg', machine: 'x' }
  return { pid, start_time: startTime, boot_id: '', ...rest }
}
