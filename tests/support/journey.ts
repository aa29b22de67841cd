import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { afterAll, beforeAll, expect, it, onTestFailed } from 'vitest'
import { type Census, type CensusPlaces, diffCensus, takeCensus, tracesOf } from './census.ts'
import { ConsoleViewer } from './console-client.ts'
import { describeHosts } from './describe-hosts.ts'
import { Desktop } from './eitri.ts'
import { addHost, agentsOf, linkOf, vmmsOf } from './fleet.ts'
import { type SshHost, type SshVariant, startSshHost } from './ssh-host.ts'

/** How one login reaches a host, and what the agent is there. */
export interface Way {
  user: 'root' | 'dev' | 'ops'
  variant: SshVariant
  carrier: 'streamlocal' | 'stdio'
  socket: string
  stateDir: string
  /** User the agent's and the VMs' processes run as. */
  runsAs: string
}

const ADD_TIMEOUT_MS = 90_000
const BUILD_TIMEOUT_MS = 240_000
const BOOT_TIMEOUT_MS = 120_000
const STEP_TIMEOUT_MS = 60_000
const SSHD_LOG_BYTES = 4096
/** Tables that tell what happened and may grow for ever; everything else must be as before. */
const HISTORY = ['audit', 'tasks', 'task_steps', 'sent_snapshots']
const VM = 'web1'

/** The main path, step by step, over one way in. */
export function journey(title: string, way: Way): void {
  describeHosts(title, { timeout: STEP_TIMEOUT_MS }, () => {
    let host: SshHost
    let desktop: Desktop
    let viewer: ConsoleViewer | undefined
    let places: CensusPlaces
    let before: Census
    let vmId = ''
    let blobSum = ''
    let diskSum = ''
    let broken = false

    const step = (name: string, run: () => Promise<void>, timeoutMs = STEP_TIMEOUT_MS) =>
      it(
        name,
        async ({ skip }) => {
          if (broken) skip('an earlier step failed')
          onTestFailed(() => {
            broken = true
            const sshd = fs.readFileSync(host.outside('/run/sshd.log'), 'utf8').slice(-SSHD_LOG_BYTES)
            console.error(`${desktop.logTail()}\nsshd: ${sshd}`)
          })
          await run()
        },
        timeoutMs,
      )
    const see = () => viewer!
    const run = (command: string, answer: RegExp, timeoutMs = 30_000) => {
      const from = see().text.length
      see().type(`${command}\n`)
      return see().waitFor(answer, timeoutMs, from)
    }
    const newTick = async () => {
      await see().waitFor(/tick \d+\.\r?\n/, 40_000, see().text.length)
    }
    const openConsole = () => {
      viewer = new ConsoleViewer(() => desktop.apiSocket, VM)
    }
    const diskDigest = async () => {
      const find = await host.must(['find', way.stateDir, '-name', 'disk.qcow2', '-path', `*${vmId}*`])
      return (await host.must(['sha256sum', find.trim()])).split(' ')[0]!
    }

    beforeAll(async () => {
      host = await startSshHost({ name: 'rack1', variant: way.variant })
      desktop = await new Desktop().start()
      places = { desktop, host, stateDir: way.stateDir }
    }, 30_000)
    afterAll(async () => {
      await viewer?.close()
      await desktop?.close()
      await host?.close()
    }, 30_000)

    step(
      'adds the host over SSH and installs the agent there',
      async () => {
        const shown = await addHost(desktop, host, way.user)
        expect(shown).toMatchObject({ name: 'rack1', kind: 'ssh', status: 'enrolled', stale: false })
        expect(shown).toMatchObject({ link: 'connected', carrier: way.carrier, runs_as: way.runsAs })
        expect(shown.host_key_fingerprint).toBe(host.hostKeyFingerprint)
        expect(host.exists(way.socket)).toBe(true)
        expect(fs.existsSync(way.socket)).toBe(false)
        expect(agentsOf(host)).toHaveLength(1)
      },
      ADD_TIMEOUT_MS,
    )

    step(
      'builds the tiny image',
      async () => {
        const image = await desktop.buildTiny()
        expect(image).toMatchObject({ name: 'tiny', kind: 'kernel', is_default: true })
        before = takeCensus(places)
      },
      BUILD_TIMEOUT_MS,
    )

    step(
      'creates a VM and sees its prompt on the console',
      async () => {
        const vm = await desktop.must(['vm', 'create', VM, '--wait', 'ready'], { timeoutMs: BOOT_TIMEOUT_MS })
        expect(vm).toMatchObject({ name: VM, host_name: 'rack1', lifecycle: 'ready', power: 'running' })
        vmId = vm.id
        openConsole()
        await see().waitFor(`${VM}:~# `, BOOT_TIMEOUT_MS)
        expect(vmmsOf(host)).toHaveLength(1)
        expect(desktop.processes().filter((p) => /qemu/.test(p.argv[0] ?? ''))).toEqual([])
      },
      2 * BOOT_TIMEOUT_MS,
    )

    step('runs a command and reads its answer', async () => {
      await run('echo $((6*7))-ok', /42-ok/)
      const made = 'dd if=/dev/urandom of=/data/blob bs=1k count=512 2>/dev/null; sync'
      blobSum = (await run(`${made}; sha256sum /data/blob | sed s/^/sum=/`, /sum=([0-9a-f]{64})/))[1]!
      await run('(i=0; while :; do echo "tick $i."; i=$((i+1)); sleep 0.1; done) &', /tick 0\.\r?\n/)
    })

    step('keeps the VM and its console over the death of the agent', async () => {
      const [agent] = agentsOf(host)
      const [vmm] = vmmsOf(host)
      await newTick()
      process.kill(agent!.pid, 'SIGKILL')
      const another = () => agentsOf(host).some((p) => p.pid !== agent!.pid)
      await expect.poll(another, { timeout: 20_000, interval: 100 }).toBe(true)
      await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 30_000, interval: 500 }).toBe('connected')
      await newTick()
      await newTick()
      expect(vmmsOf(host).map((p) => p.pid)).toEqual([vmm!.pid])
      expect(await desktop.must(['vm', 'show', VM])).toMatchObject({ lifecycle: 'ready', power: 'running' })
    })

    step('keeps the VM and its console over the death of the control plane', async () => {
      const [vmm] = vmmsOf(host)
      await desktop.stop('SIGKILL')
      await desktop.start()
      await newTick()
      await newTick()
      expect(vmmsOf(host).map((p) => p.pid)).toEqual([vmm!.pid])
    })

    step('showed every byte once: the viewer equals the log of the agent', async () => {
      await run('kill %1 2>/dev/null; kill $!; echo all-$((1+1))-seen', /all-2-seen/)
      const viewer = see()
      expect(viewer.faults).toEqual([])
      expect(viewer.skips).toEqual([])
      const seen = viewer.digest()
      expect(seen.start).toBe(0n)
      const ticks = [...viewer.text.matchAll(/tick (\d+)\.\r?\n/g)].map((m) => Number(m[1]))
      expect(ticks).toEqual(ticks.map((_, i) => i))
      expect(ticks.length).toBeGreaterThan(15)
      const log = (await host.must(['find', way.stateDir, '-name', 'serial.log', '-path', `*${vmId}*`])).trim()
      const kept = fs.readFileSync(host.outside(log)).subarray(0, Number(seen.end))
      expect(createHash('sha256').update(kept).digest('hex')).toBe(seen.sha256)
    })

    step('stops the VM', async () => {
      expect(await desktop.must(['vm', 'stop', VM, '--wait'])).toMatchObject({ lifecycle: 'stopped' })
      await expect.poll(() => vmmsOf(host), { timeout: 10_000 }).toEqual([])
      diskSum = await diskDigest()
    })

    step('deletes the VM into quarantine', async () => {
      await desktop.must(['vm', 'delete', VM])
      const quarantined = async () => {
        const { vms } = await desktop.must(['vm', 'list'])
        return vms.find((v: { id: string }) => v.id === vmId)
      }
      await expect.poll(async () => (await quarantined())?.quarantine_ends_at, { timeout: 20_000 }).toBeTruthy()
      expect(await quarantined()).toMatchObject({ lifecycle: 'deleting' })
      expect(await diskDigest()).toBe(diskSum)
    })

    step(
      'undeletes it with its disk intact',
      async () => {
        await desktop.must(['vm', 'undelete', VM, '--wait', 'stopped'])
        expect(await diskDigest()).toBe(diskSum)
        const from = see().text.length
        await desktop.must(['vm', 'start', VM, '--wait', 'ready'])
        await see().waitFor(`${VM}:~# `, BOOT_TIMEOUT_MS, from)
        expect((await run('sha256sum /data/blob | sed s/^/sum=/', /sum=([0-9a-f]{64})/))[1]).toBe(blobSum)
      },
      2 * BOOT_TIMEOUT_MS,
    )

    step('deletes and purges it, and nothing is left behind', async () => {
      await desktop.must(['vm', 'delete', VM])
      await desktop.must(['vm', 'purge', VM, '--yes', '--wait'])
      await viewer?.close()
      const left = () =>
        diffCensus(before, takeCensus(places)).filter((line) => !expected(line, HISTORY) && !isCachedImage(line))
      await expect.poll(left, { timeout: 15_000, interval: 500 }).toEqual([])
      await expect.poll(() => tracesOf(vmId, places, HISTORY), { timeout: 15_000, interval: 500 }).toEqual([])
    })
  })
}

const expected = (line: string, tables: string[]) => tables.some((t) => line.startsWith(`rows ${t} +`))
/** The image cache outlives the VM on purpose: it belongs to the host. */
const isCachedImage = (line: string) => /^file host:.*\/images(\/|$)/.test(line)
