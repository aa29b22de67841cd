import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentLayout } from '../../src/agent/records/layout.ts'
import type { VmRow } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { BOOT_TIMEOUT_MS, DebianHost } from '../support/debian-guest.ts'
import { netNamespaceImpossible } from '../support/net-namespace.ts'
import { QmpProxy } from '../support/qmp-proxy.ts'

const ID = 'c10c'.repeat(8)
const NTP_SERVER = join(import.meta.dirname, '../support/ntp-server.ts')
const PAUSE_MS = 70_000
const SHORT_PAUSE_MS = 20_000
const ACT_MS = 120_000
/** chrony asks every 8 to 16 s and wants four samples that agree. */
const CHRONY_MS = 180_000
/** Writes down the wall clock beside the one that never steps, twice a second. */
const TICKING =
  "nohup sh -c 'while sleep 0.5; do echo $(date +%s.%N) $(cut -d\\  -f1 /proc/uptime); done' >/tmp/ticks 2>/dev/null </dev/null &"
/** The first moment after a step of that wall clock, by itself. */
const STEPPED = "awk '{ d = $1 - $2 } NR == 1 { first = d } d - first > 5 { print $1; exit }' /tmp/ticks"

describe.skipIf(netNamespaceImpossible())('the clock of a Debian guest', () => {
  let host: DebianHost
  let qemu: QmpProxy
  let address: string
  beforeAll(async () => {
    host = await DebianHost.start()
    host.want(host.spec({ vmId: ID, name: 'clock' }))
    await host.row(ID, (row) => row.power === 'running', BOOT_TIMEOUT_MS)
    await host.settled(ID)
    address = (await host.row(ID, (row) => row.ip !== '')).ip
  }, 900_000)
  afterAll(async () => {
    await qemu?.[Symbol.asyncDispose]()
    await host?.[Symbol.asyncDispose]()
  }, 60_000)

  const inGuest = (command: string) => host.mustSsh({ address }, command)
  /** How far the guest's time is outside of the time a look through ssh took, ms. 0 = nothing says that it is wrong. */
  const offBy = async () => {
    const began = Date.now()
    const guest = Number(await inGuest('date +%s.%N')) * 1000
    return Math.max(began - guest, guest - Date.now(), 0)
  }
  const standStill = async (ms: number) => {
    await qemu.execute('stop')
    await delay(ms)
    await qemu.execute('cont')
    return Date.now()
  }
  const actedSince = (since: number) => (row: VmRow) => {
    const act = row.clock?.lastAct
    return act?.at !== undefined && act.result !== '' && timestampMs(act.at) >= since
  }

  it('is measured, and the guest says that cloud-init is done and the part of the fleet applied', async () => {
    const row = await host.row(ID, ({ guest }) => guest?.cloudInit !== 'running' && guest?.fleetPayload !== '', ACT_MS)
    expect(row.guest).toMatchObject({
      guestAgent: 'answering',
      cloudInit: 'done',
      fleetPayload: 'applied',
    })
    expect(row.guest?.guestAgentVersion).toMatch(/^7\./)
    expect(row.clock).toMatchObject({ source: 'guest_agent', detail: '' })
    expect(row.clock?.uncertaintyUs).toBeGreaterThan(0n)
  }, 180_000)

  it('is right again within 10 s of a pause of 70 s, which nothing in the guest could notice', async () => {
    await host.restartAgent(async () => {
      qemu = await QmpProxy.open(agentLayout(host.agent.stateDir).vmDir(ID).dir)
    })
    await host.row(ID, (row) => row.clock?.offsetUs !== undefined, ACT_MS)
    const went = await standStill(PAUSE_MS)
    const { clock } = await host.row(ID, actedSince(went), ACT_MS)
    expect(clock?.lastAct).toMatchObject({ cause: 'resume', means: 'set_time', result: 'done' })
    expect(Number(clock?.lastAct?.offsetBeforeUs)).toBeLessThan(-60_000_000)
    expect(Math.abs(Number(clock?.lastAct?.offsetAfterUs))).toBeLessThan(1_000_000)
    const tookMs = timestampMs(clock!.lastAct!.at!) - went
    console.log(`set ${tookMs} ms after it went on; ${clock?.lastAct?.offsetAfterUs} us off then`)
    expect(tookMs).toBeLessThan(10_000)
    expect(await offBy()).toBeLessThan(1_000)
  }, 300_000)

  it('that somebody pulls back an hour is seen and set', async () => {
    const since = Date.now()
    await inGuest('sudo date -s "1 hour ago" >/dev/null')
    const { clock } = await host.row(ID, actedSince(since), ACT_MS)
    expect(clock?.lastAct).toMatchObject({ cause: 'offset', result: 'done' })
    expect(Number(clock?.lastAct?.offsetBeforeUs)).toBeLessThan(-3_500_000_000)
    expect(await offBy()).toBeLessThan(1_000)
  }, 180_000)

  it('is set when a person asks', async () => {
    const clock = await host.session.setClock(ID)
    expect(clock?.lastAct).toMatchObject({ cause: 'asked', means: 'set_time', result: 'done' })
  }, 60_000)

  it('is brought right by chrony in the guest where the guest agent will not set it', async () => {
    const gateway = (await inGuest("ip -4 route show default | awk '{print $3}'")).trim()
    const ntp = host.namespace.spawn([process.execPath, NTP_SERVER, gateway])
    await once(ntp.stdout!, 'data', { signal: AbortSignal.timeout(30_000) })
    const source = `server ${gateway} iburst minpoll 3 maxpoll 4`
    await inGuest(
      `echo '${source}' | sudo tee /etc/chrony/sources.d/test.sources >/dev/null && sudo chronyc reload sources && ` +
        'sudo chronyc waitsync 60 1 0 1 >/dev/null',
    )
    const unit = '/etc/systemd/system/qemu-guest-agent.service.d'
    await inGuest(
      `sudo mkdir -p ${unit} && printf '[Service]\\nExecStart=\\nExecStart=/usr/sbin/qemu-ga -b guest-set-time\\n' | ` +
        `sudo tee ${unit}/test.conf >/dev/null && sudo systemctl daemon-reload && sudo systemctl restart qemu-guest-agent`,
    )
    const went = await standStill(SHORT_PAUSE_MS)
    const { clock } = await host.row(ID, actedSince(went), ACT_MS)
    expect(clock?.lastAct).toMatchObject({ cause: 'resume', means: 'chrony_burst', result: 'done' })
    expect(clock?.lastAct?.detail).toContain('guest-set-time')
    console.log(`chrony stepped it ${timestampMs(clock!.lastAct!.at!) - went} ms after it went on`)
    expect(Math.abs(Number(clock?.lastAct?.offsetAfterUs))).toBeLessThan(1_000_000)
  }, 300_000)

  it(
    'of a guest whose guest agent is stopped is not reported, which is said, and chrony steps it by itself',
    async () => {
      await inGuest(`sudo systemctl stop qemu-guest-agent; ${TICKING}`)
      const went = await standStill(SHORT_PAUSE_MS)
      const { clock, guest } = await host.row(ID, actedSince(went), ACT_MS)
      expect(guest?.guestAgent).toBe('silent')
      expect(clock).toMatchObject({ source: '', lastAct: { cause: 'resume', means: 'none', result: 'failed' } })
      expect(clock?.offsetUs).toBeUndefined()
      expect(clock?.detail).not.toBe('')
      await expect.poll(() => inGuest(STEPPED), { timeout: CHRONY_MS, interval: 1_000 }).not.toBe('')
      console.log(`chrony alone stepped it ${Number(await inGuest(STEPPED)) * 1000 - went} ms after it went on`)
      expect(await offBy()).toBeLessThan(1_000)
    },
    BOOT_TIMEOUT_MS,
  )
})
