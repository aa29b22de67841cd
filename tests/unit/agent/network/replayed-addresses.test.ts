import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostNetworks } from '../../../../src/agent/network/host-networks.ts'
import { macOf } from '../../../../src/agent/network/mac.ts'
import { networkPlace } from '../../../../src/agent/network/network-place.ts'
import { knownVms } from '../../../../src/agent/network/open-networks.ts'
import { tapName } from '../../../../src/agent/network/tap.ts'
import type { Processes } from '../../../../src/agent/os/process.ts'
import { newRecord } from '../../../../src/agent/records/vm-record.ts'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { aVm, MemoryRecords } from '../reconcile/rig.ts'

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(32)) as [string, string, string, string]
const signal = AbortSignal.timeout(10_000)
const identity = { pid: 4711, startTime: '1', bootId: 'boot' }

describe('addresses of guests that an agent finds', () => {
  let dir: string
  let warnings: string[]
  let open: HostNetworks[]
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-replay-'))
    warnings = []
    open = []
  })
  afterEach(async () => {
    for (const networks of open) await networks.close()
    await rm(dir, { recursive: true })
  })

  const place = () => networkPlace(7, dir)
  const served = async () => (await readFile(place().hosts, 'utf8')).trim().split('\n')

  /** An agent that owns the network; what it runs does nothing, and does it well. */
  async function agent(
    records: MemoryRecords,
    { taps = [], lacks = [], fails = 0 }: { taps?: string[]; lacks?: string[]; fails?: number } = {},
  ) {
    let failing = fails
    let runs = false
    const processes = {
      identify: () => identity,
      alive: () => runs,
      pidsIn: () => (runs ? [identity.pid] : []),
      signal: () => {
        runs = false
        return true
      },
    } as unknown as Processes
    const log = { ...silentLog, warn: (event: string) => void warnings.push(event) }
    await mkdir(place().dir, { recursive: true })
    const facts = { asked: 'auto', root: true, holder: '', missing: [] } as const
    const networks = new HostNetworks({
      platform: 'linux',
      stateDir: '/state',
      ownership: {
        owns: true,
        because: '',
        asked: 'auto',
        facts,
        place: place(),
        missing: async () => lacks,
        release: async () => {},
      },
      cidr: () => '10.77.0.0/28',
      taps: { ensure: async () => {}, remove: async () => {} },
      run: async (point) => {
        if (point === 'network.load' && failing-- > 0) return { code: 1, stdout: '', stderr: 'busy', timedOut: false }
        const gone = point === 'network.ask-bridge'
        const stderr = gone ? 'Device "eitri0" does not exist.' : ''
        const stdout = point === 'network.ask-taps' ? '[]' : 'table'
        return { code: gone ? 1 : 0, stdout, stderr, timedOut: false }
      },
      detach: async () => {
        runs = true
        await writeFile(place().pidfile, `${identity.pid}\n`)
        return identity.pid
      },
      processes,
      sysctl: { read: async () => '1', write: async () => {} },
      hasDevice: (name) => taps.includes(name),
      clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms === 30_000 ? 1 : ms, signal) },
      log,
    })
    open.push(networks)
    await networks.start(await knownVms(records, log))
    expect(networks.reserves).toBe(lacks.length === 0 && fails === 0)
    return networks
  }

  async function holding(...addresses: [vmId: string, ip: string][]): Promise<MemoryRecords> {
    const records = new MemoryRecords()
    for (const [vmId, ip] of addresses) await records.save({ ...newRecord(aVm({ vmId, name: `vm-${vmId[0]}` })), ip })
    return records
  }

  it('are served before anything else happens; a VM without one gets the lowest free at its next boot', async () => {
    const networks = await agent(await holding([A, '10.77.0.2'], [B, '10.77.0.4'], [C, '']))
    expect(await served()).toEqual(
      [`${macOf(A)},10.77.0.2,vm-a.eitri.internal`, `${macOf(B)},10.77.0.4,vm-b.eitri.internal`].sort(),
    )
    await networks.attach({ vmId: C, name: 'vm-c', network: '' }, signal)
    expect(networks.address(C)).toBe('10.77.0.3')
    expect(await served()).toContain(`${macOf(C)},10.77.0.3,vm-c.eitri.internal`)
  })

  it('are a quarantined VM’s as well, and nobody’s where two have one or the network has no such', async () => {
    const records = await holding([A, '10.77.0.2'], [B, '10.77.0.2'], [C, '10.99.0.9'])
    const quarantine = { elapsedMs: 0, sinceUptimeMs: undefined, bootId: 'boot', tombstone: '' }
    await records.save({ ...records.of(A)!, quarantine })
    await agent(records)
    expect(await served()).toEqual([`${macOf(A)},10.77.0.2,vm-a.eitri.internal`])
    expect(warnings).toEqual(['network.address-dropped', 'network.address-dropped'])
  })

  it('stay with a VM whose record cannot be read, or does not have it yet', async () => {
    const first = await agent(await holding([A, '10.77.0.2'], [B, '10.77.0.3'], [C, '']))
    await first.attach({ vmId: C, name: 'vm-c', network: '' }, signal)
    const records = await holding([A, '10.77.0.2'], [B, '10.77.0.3'], [C, ''])
    records.unreadable.add(B)
    const networks = await agent(records)
    await networks.attach({ vmId: D, name: 'vm-d', network: '' }, signal)
    expect([networks.address(D), warnings]).toEqual(['10.77.0.5', ['network.record-unreadable']])
    expect((await served()).sort()).toEqual(
      [A, B, C, D].map((vmId, n) => `${macOf(vmId)},10.77.0.${n + 2},vm-${vmId[0]}.eitri.internal`).sort(),
    )
  })

  it('carry on without any when the records cannot be listed', async () => {
    const records = await holding([A, '10.77.0.2'])
    records.unlisted = new Error('input/output error')
    await agent(records)
    expect(warnings).toEqual(['network.records-unlisted'])
  })

  it('are a running guest’s only once it was booted onto the bridge', async () => {
    const records = await holding([A, '10.77.0.2'], [B, '10.77.0.3'])
    const networks = await agent(records, { taps: [tapName(B)] })
    expect([networks.address(A), networks.address(B)]).toEqual(['', '10.77.0.3'])
  })

  it('are served once the part came that was missing, at the next look', async () => {
    const lacks = ['dnsmasq']
    const networks = await agent(await holding([A, '10.77.0.2']), { lacks })
    expect(networks.notices().join()).toContain('This host lacks dnsmasq')
    lacks.pop()
    await networks.settle()
    expect([networks.reserves, networks.notices()]).toEqual([true, []])
    expect(await served()).toEqual([`${macOf(A)},10.77.0.2,vm-a.eitri.internal`])
  })

  it('are served once the host lets them, though nobody asks', async () => {
    const networks = await agent(await holding([A, '10.77.0.2']), { taps: [tapName(A)], fails: 2 })
    expect(networks.notices().join()).toContain('could not be made (nft -f')
    expect(networks.status()[0]).toMatchObject({ kind: 'user', state: 'degraded' })
    await expect.poll(() => networks.address(A)).toBe('10.77.0.2')
    expect(networks.notices()).toEqual([])
    expect(warnings).toEqual(['network.not-made'])
  })

  it('run out, which is told, and are free again once their VM is gone', async () => {
    const ids = Array.from({ length: 13 }, (_, n) => n.toString(16).padStart(32, '0'))
    const networks = await agent(await holding(...ids.map((id, n): [string, string] => [id, `10.77.0.${n + 2}`])))
    const late = { vmId: A, name: 'late', network: '' }
    await expect(networks.attach(late, signal)).rejects.toMatchObject({ code: 'vm/network-full' })
    await networks.detach(ids[4]!)
    await networks.attach(late, signal)
    expect(networks.address(A)).toBe('10.77.0.6')
  })
})
