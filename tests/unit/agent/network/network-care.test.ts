import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NetworkCare } from '../../../../src/agent/network/network-care.ts'
import type { NetworkLook } from '../../../../src/agent/network/network-look.ts'
import { removeAllMends } from '../../../../src/agent/network/network-mend.ts'
import type { Run } from '../../../../src/agent/os/exec.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

const PATH = '/state/network-mends.json'

/** A host whose one setting is turned off, or whose look fails. */
class Host {
  forwarding = false
  fails = ''
  refuses = false
  file: string | undefined
  looks = 0
  ran: string[] = []

  look = async (): Promise<NetworkLook> => {
    this.looks++
    if (this.fails !== '') throw new Error(this.fails)
    return {
      ...{ bridge: 'eitri0', guestCidr: '', operatorBridges: [], missing: [], routes: [], bridgeNfCall: false },
      filters: { ruleset: { chains: [] } },
      forwarding: new Map([['eitri0', this.forwarding]]),
      strictReversePath: new Set(),
      mtu: new Map(),
    }
  }
  run: Run = async (_point, command, args) => {
    this.ran.push([command, ...args].join(' '))
    if (this.refuses) return { code: 1, stdout: '', stderr: 'permission denied', timedOut: false }
    this.forwarding = args[1]!.endsWith('=1')
    return { code: 0, stdout: '', stderr: '', timedOut: false }
  }
  files = {
    readIfPresent: async () => (this.file === undefined ? undefined : Buffer.from(this.file)),
    writeDurable: async (_point: unknown, _path: string, data: string | Uint8Array) => {
      this.file = String(data)
    },
  }
  care = (look: () => Promise<NetworkLook> | undefined = this.look) =>
    NetworkCare.open({ look, run: this.run, files: this.files, path: PATH, log: silentLog })
}

describe('the care for the network of a host', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('looks by itself, and puts back what of a mend is gone, within one period', async () => {
    const host = new Host()
    const care = await host.care()
    care.start()
    await vi.advanceTimersByTimeAsync(0)
    expect(care.findings()).toMatchObject([{ id: 'forwarding-off', mended: false }])
    expect(host.ran).toEqual([])
    await care.mend('forwarding-off')
    expect(care.findings()).toMatchObject([{ id: 'forwarding-off', mended: true }])
    host.forwarding = false
    await vi.advanceTimersByTimeAsync(15_000)
    expect([host.forwarding, host.ran.length]).toEqual([true, 2])
    await care.stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(host.ran).toHaveLength(2)
  })

  it('tells of a change once, and of none that is none', async () => {
    const host = new Host()
    const care = await host.care()
    const heard = vi.fn()
    care.onChange(heard)
    await care.check()
    await care.check()
    expect(heard).toHaveBeenCalledTimes(1)
    await care.mend('forwarding-off')
    expect(heard).toHaveBeenCalledTimes(2)
  })

  it('goes on after a look that failed', async () => {
    const host = new Host()
    const care = await host.care()
    host.fails = 'no memory'
    care.start()
    await vi.advanceTimersByTimeAsync(15_000)
    await expect(care.check()).rejects.toThrow('no memory')
    host.fails = ''
    await vi.advanceTimersByTimeAsync(15_000)
    expect(care.findings()).toHaveLength(1)
    await care.stop()
  })

  it('keeps nothing of a mend that failed, and an undo that failed leaves the mend', async () => {
    const host = new Host()
    const care = await host.care()
    host.refuses = true
    await expect(care.mend('forwarding-off')).rejects.toMatchObject({
      code: 'network/mend-failed',
      params: { finding: 'forwarding-off', detail: 'sysctl: permission denied' },
    })
    expect(await care.check()).toMatchObject([{ mended: false }])
    host.refuses = false
    await care.mend('forwarding-off')
    host.refuses = true
    await expect(care.undo('forwarding-off')).rejects.toMatchObject({ code: 'network/mend-failed' })
    expect(await care.check()).toMatchObject([{ mended: true }])
  })

  it('knows the mends of an earlier life, whether anything needs them or not, and an unreadable file is none', async () => {
    const host = new Host()
    host.file = JSON.stringify({
      version: 1,
      mends: [
        { id: 'forwarding-off', settings: ['eitri0'] },
        { id: 'forward-drop', settings: [] },
      ],
    })
    host.forwarding = true
    const findings = await (await host.care()).check()
    expect(findings).toMatchObject([
      { id: 'forwarding-off', mended: true },
      { id: 'forward-drop', mended: true, what: 'Nothing needs the mend of forward-drop now.' },
    ])
    host.file = '{'
    expect(await (await host.care()).check()).toEqual([])
  })

  it('finds and mends nothing on a host whose network is not its own', async () => {
    const care = await new Host().care(() => undefined)
    expect(await care.check()).toEqual([])
    await expect(care.mend('forwarding-off')).rejects.toMatchObject({ code: 'network/not-mendable' })
    expect(await care.undo('forwarding-off')).toEqual([])
  })
})

describe('what an agent leaves when it goes', () => {
  const kept = JSON.stringify({ version: 1, mends: [{ id: 'forwarding-off', settings: ['eitri0'] }] })

  it('is none of its mends, or a word for those that stay', async () => {
    const host = new Host()
    Object.assign(host, { file: kept, forwarding: true })
    const removed = await removeAllMends(host.run, host.files, '/nonexistent/mends', host.look)
    expect([removed, host.forwarding]).toEqual([{ removed: ['the mend of forwarding-off'], left: [] }, false])
    Object.assign(host, { forwarding: true, refuses: true })
    expect(await removeAllMends(host.run, host.files, '/nonexistent/mends', host.look)).toEqual({
      removed: [],
      left: ['the mend of forwarding-off: sysctl: permission denied'],
    })
  })

  it('is looked for only where there ever was a mend', async () => {
    const host = new Host()
    expect(await removeAllMends(host.run, host.files, PATH, host.look)).toEqual({ removed: [], left: [] })
    expect(host.looks).toBe(0)
  })
})
