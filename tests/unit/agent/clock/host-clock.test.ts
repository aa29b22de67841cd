import { describe, expect, it } from 'vitest'
import { trackingOf } from '../../../../src/agent/clock/chrony-text.ts'
import { HostClockLook } from '../../../../src/agent/clock/host-clock.ts'
import { HostPulse } from '../../../../src/agent/clock/host-pulse.ts'
import { peersOf, systemdTimeOf } from '../../../../src/agent/clock/time-service-text.ts'
import type { Run } from '../../../../src/agent/os/exec.ts'
import { SteppedClock } from '../../../support/stepped-clock.ts'

/** As chronyc 4.3 prints them. */
const FOLLOWS =
  '0A090001,10.9.0.1,9,1796071976.205066578,-0.000002641,0.000000120,0.000000803,-0.095,0.002,0.491,0.000010393,0.000002605,1.0,Normal\n'
const OWN_CLOCK =
  '7F7F0101,,8,1796071967.363758109,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n'
const RESET =
  '00000000,,0,0.000000000,0.000000000,0.000000120,0.000000803,-0.095,0.000,0.000,1.000000000,1.000000000,1.0,Not synchronised\n'

const PEERS = `     remote           refid      st t when poll reach   delay   offset  jitter
==============================================================================
+10.0.0.7        192.0.2.9        3 u   33   64  377    0.812    4.200   0.411
*192.0.2.1       .GPS.            1 u   12   64  377    0.301  -12.345   0.022
`
const NO_PEER = PEERS.replace('*', ' ')

const TIMESYNC = `SystemNTPServers=
FallbackNTPServers=0.debian.pool.ntp.org
ServerName=0.debian.pool.ntp.org
ServerAddress=192.0.2.123
NTPMessage={ Leap=0, Version=4, Mode=4, Stratum=2, Precision=-25, RootDelay=1.1ms, Reference=C0000201, Ignored=no }
`

describe('what time services say of the clock they keep', () => {
  it('chrony: whom it follows, and how far ahead of it the clock is', () => {
    expect(trackingOf(FOLLOWS)).toEqual({ state: 'synchronised', offsetUs: 3, stratum: 9, source: '10.9.0.1' })
    const behind = FOLLOWS.replace('-0.000002641', '1.500000000')
    expect(trackingOf(behind)?.offsetUs).toBe(-1_500_000)
  })

  it.each([
    ['that has no source', RESET],
    ['that follows its own clock', OWN_CLOCK],
  ])('chrony %s keeps no time', (_, text) => {
    expect(trackingOf(text)).toEqual({ state: 'not_synchronised', offsetUs: undefined, stratum: undefined, source: '' })
  })

  it.each(['', 'Could not open connection to daemon\n', '506 Cannot talk to daemon\n', 'a,b,c'])(
    'chrony: %j is no answer',
    (text) => expect(trackingOf(text)).toBeUndefined(),
  )

  it('ntpd: the peer it marked, whose own offset is the other way round', () => {
    expect(peersOf(PEERS)).toEqual({ state: 'synchronised', offsetUs: 12_345, stratum: 1, source: '192.0.2.1' })
    expect(peersOf(NO_PEER)).toMatchObject({ state: 'not_synchronised', source: '' })
    expect(peersOf('ntpq: read: Connection refused\n')).toBeUndefined()
  })

  it("systemd: the kernel's flag and the server of timesyncd", () => {
    expect(systemdTimeOf('NTP=yes\nNTPSynchronized=yes\n', TIMESYNC)).toEqual({
      kernel: true,
      server: '0.debian.pool.ntp.org',
      stratum: 2,
    })
    expect(systemdTimeOf('', '')).toEqual({ kernel: undefined, server: '', stratum: undefined })
  })
})

describe("the host's clock", () => {
  const answering = (answers: Record<string, string>) => {
    const clock = new SteppedClock()
    const asked: string[] = []
    const run: Run = async (_, command, args) => {
      const line = [command, ...args].join(' ')
      asked.push(line)
      if (!(command in answers) && !(line in answers)) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
      const stdout = answers[line] ?? answers[command] ?? ''
      return { code: stdout === '' ? 1 : 0, stdout, stderr: '', timedOut: false }
    }
    return { clock, asked, answers, look: new HostClockLook({ run, clock }) }
  }

  it('is as chrony says, where chrony runs', async () => {
    const { look } = answering({ chronyc: FOLLOWS, 'timedatectl show': 'NTPSynchronized=no\n' })
    await look.look()
    expect(look.latest()).toMatchObject({
      state: 'synchronised',
      daemon: 'chrony',
      source: '10.9.0.1',
      stratum: 9,
      offsetUs: 3n,
      detail: '',
    })
  })

  it('is as ntpd says, where chrony is installed and does not run', async () => {
    const { look } = answering({ chronyc: '', ntpq: PEERS })
    await look.look()
    expect(look.latest()).toMatchObject({ state: 'synchronised', daemon: 'ntpd', offsetUs: 12_345n })
  })

  it('is as timesyncd says, which tells no offset', async () => {
    const { look } = answering({
      'timedatectl show': 'NTPSynchronized=yes\n',
      'timedatectl show-timesync': TIMESYNC,
    })
    await look.look()
    expect(look.latest()).toMatchObject({ state: 'synchronised', daemon: 'timesyncd', stratum: 2 })
    expect(look.latest()?.offsetUs).toBeUndefined()
  })

  it('with a flag of the kernel alone names no daemon', async () => {
    const { look } = answering({ 'timedatectl show': 'NTPSynchronized=no\n', 'timedatectl show-timesync': '' })
    await look.look()
    expect(look.latest()).toMatchObject({ state: 'not_synchronised', daemon: '', source: '' })
    expect(look.latest()?.detail).not.toBe('')
  })

  it('is not guessed where nothing tells', async () => {
    const { look } = answering({})
    expect(look.latest()).toBeUndefined()
    await look.look()
    expect(look.latest()).toMatchObject({ state: '', daemon: '' })
    expect(look.latest()?.since).toBeUndefined()
    expect(look.latest()?.detail).not.toBe('')
  })

  it('has its state since the look that saw it change', async () => {
    const rig = answering({ chronyc: FOLLOWS })
    await rig.look.look()
    const first = rig.look.latest()!.since
    rig.clock.advance(30_000)
    await rig.look.look()
    expect(rig.look.latest()?.since).toEqual(first)
    rig.answers['chronyc'] = RESET
    rig.clock.advance(30_000)
    await rig.look.look()
    expect(rig.look.latest()).toMatchObject({ state: 'not_synchronised' })
    expect(rig.look.latest()!.since!.seconds - first!.seconds).toBe(60n)
  })
})

describe('a host whose uptime cannot be read', () => {
  it('has its beats told by the other clocks, and its sleep once it can be', () => {
    const clock = new SteppedClock()
    let up: number | undefined
    const pulse = new HostPulse(clock, () => {
      if (up === undefined) throw new Error('EMFILE: too many open files')
      return up
    })
    const pass = (uptime: number | undefined, mono: number) => {
      up = uptime
      clock.mono += mono
      clock.wall += mono
      return pulse.beat(1_000)
    }
    expect([pass(undefined, 1_000), pass(90_000, 1_000), pass(undefined, 60_000)]).toEqual([
      undefined,
      undefined,
      'stall',
    ])
    expect([pass(90_000, 1_000), pass(3_690_000, 1_000)]).toEqual([undefined, 'host_wake'])
  })
})

describe('between two beats a host', () => {
  const rig = () => {
    const clock = new SteppedClock()
    let up = 0
    const pulse = new HostPulse(clock, () => up)
    const pass = (ms: { up: number; mono: number; wall: number }) => {
      up += ms.up
      clock.mono += ms.mono
      clock.wall += ms.wall
      return pulse.beat(1_000)
    }
    return pass
  }

  it.each([
    ['that ran did nothing', { up: 1_010, mono: 1_000, wall: 1_000 }, undefined],
    ['that is busy did nothing', { up: 4_010, mono: 4_000, wall: 4_000 }, undefined],
    ['slept', { up: 3_601_000, mono: 1_000, wall: 3_601_000 }, 'host_wake'],
    ['stood still', { up: 60_000, mono: 60_000, wall: 60_000 }, 'stall'],
    ['had its clock set forward', { up: 1_000, mono: 1_000, wall: 61_000 }, 'step'],
    ['had its clock set back', { up: 1_000, mono: 1_000, wall: -59_000 }, 'step'],
  ] as const)('%s', (_, ms, event) => {
    const pass = rig()
    expect(pass(ms)).toBe(event)
    expect(pass({ up: 1_000, mono: 1_000, wall: 1_000 })).toBeUndefined()
  })
})
