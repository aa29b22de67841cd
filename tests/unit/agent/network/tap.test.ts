import { describe, expect, it } from 'vitest'
import { IpTaps, tapName } from '../../../../src/agent/network/tap.ts'
import type { Run, RunResult } from '../../../../src/agent/os/exec.ts'

const ID = '0123456789abcdef0123456789abcdef'

describe('the name of a tap', () => {
  it('is a function of the VM id and fits an interface', () => {
    for (const nic of [0, 1]) {
      expect(tapName(ID, nic)).toBe(tapName(ID, nic))
      expect(tapName(ID, nic)).toHaveLength(15)
    }
    expect(tapName(ID)).toMatch(/^eitri-[0-9a-f]{9}$/)
    expect(tapName(ID, 1)).toMatch(/^eil-[0-9a-f]{11}$/)
  })

  it('differs for ids that begin alike', () => {
    const names = Array.from({ length: 1000 }, (_, i) =>
      tapName(`${ID.slice(0, 28)}${i.toString(16).padStart(4, '0')}`),
    )
    expect(new Set(names).size).toBe(1000)
  })
})

describe('making a tap', () => {
  const host = (answer: (args: readonly string[]) => Partial<RunResult>) => {
    const asked: string[] = []
    const run: Run = async (_point, command, args) => {
      asked.push([command, ...args].join(' '))
      return { code: 0, stdout: '', stderr: '', timedOut: false, ...answer(args) }
    }
    return { taps: new IpTaps(run), asked }
  }
  const live = () => AbortSignal.timeout(5_000)
  const absent = { code: 1, stderr: 'Device "eitri-1" does not exist.\n' }
  const link = (type: string, ...flags: string[]) => ({
    stdout: JSON.stringify([{ ifname: 'eitri-1', flags, linkinfo: { info_kind: 'tun', info_data: { type } } }]),
  })

  it('adds it and brings it up', async () => {
    const { taps, asked } = host((args) => (args.includes('show') ? absent : {}))
    await taps.ensure('eitri-1', live())
    expect(asked.slice(1)).toEqual(['ip tuntap add dev eitri-1 mode tap vnet_hdr', 'ip link set dev eitri-1 up'])
  })

  it('changes nothing when it is there and up', async () => {
    const { taps, asked } = host(() => link('tap', 'BROADCAST', 'UP'))
    await taps.ensure('eitri-1', live())
    expect(asked).toHaveLength(1)
  })

  it('refuses an interface of that name that is none, for good', async () => {
    for (const shown of [link('tun', 'UP'), { stdout: '[{"ifname":"eitri-1","flags":["UP"]}]' }]) {
      const { taps } = host(() => shown)
      await expect(taps.ensure('eitri-1', live())).rejects.toMatchObject({
        code: 'vmm/failed',
        disposition: 'permanent',
      })
    }
  })

  it('fails for good where it is not permitted, and else may heal', async () => {
    const refusing = (stderr: string) => host((args) => (args.includes('show') ? absent : { code: 1, stderr })).taps
    await expect(refusing('ioctl(TUNSETIFF): Operation not permitted').ensure('eitri-1', live())).rejects.toMatchObject(
      {
        disposition: 'permanent',
        params: { detail: 'ip tuntap add: ioctl(TUNSETIFF): Operation not permitted' },
      },
    )
    await expect(refusing('Device or resource busy').ensure('eitri-1', live())).rejects.toMatchObject({
      disposition: 'transient',
    })
  })

  it('names a host without ip', async () => {
    const taps = new IpTaps(() => Promise.reject(Object.assign(new Error('spawn ip'), { code: 'ENOENT' })))
    await expect(taps.ensure('eitri-1', live())).rejects.toMatchObject({
      code: 'vmm/missing',
      disposition: 'permanent',
    })
  })
})
