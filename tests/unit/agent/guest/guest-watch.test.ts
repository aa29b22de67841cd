import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLOUD_INIT_FILES } from '../../../../src/agent/guest/cloud-init-verdict.ts'
import type { RunningGuest } from '../../../../src/agent/guest/guest-rounds.ts'
import { GuestWatch } from '../../../../src/agent/guest/guest-watch.ts'
import type { Run } from '../../../../src/agent/os/exec.ts'
import { agentLayout, type VmLayout } from '../../../../src/agent/records/layout.ts'
import { PAYLOAD_REPORT, payloadMark } from '../../../../src/agent/seed/fleet-payload.ts'
import { writeSeed } from '../../../../src/agent/seed/seed.ts'
import { type GuestTrustFiles, revokedList } from '../../../../src/agent/seed/ssh-trust.ts'
import { systemClock } from '../../../../src/ipc/base/clock.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'
import { FakeGuestAgent, programs, refuses, returns } from '../../../support/fake-guest-agent.ts'

const ID = 'c'.repeat(32)
const STATUS = JSON.stringify({ v1: { init: { errors: [] }, stage: null } })
const RESULT = JSON.stringify({ v1: { errors: [] } })

describe('what the agent learns from inside a guest', () => {
  let stateDir: string
  let vm: VmLayout
  let peer: FakeGuestAgent
  let watch: GuestWatch
  let running: RunningGuest[]
  let trust: GuestTrustFiles | undefined
  let resumed: (vmId: string) => void
  /** ms the guest's clock is ahead. */
  let ahead: number
  let files: Record<string, string>
  let execs: string[]
  let scripts: string[]

  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'eitri-watch-'))
    vm = agentLayout(stateDir).vmDir(ID)
    await mkdir(vm.dir, { recursive: true })
    const seed = { vmId: ID, hostname: 'web', authorizedKeys: [], userData: new Uint8Array(), mac: '52:54:00:00:00:01' }
    await writeSeed(vm.seed, { ...seed, clock: 'auto', ssh: { userCas: [] } }, 0)
    ahead = 0
    trust = undefined
    files = {}
    execs = []
    scripts = []
    peer = await FakeGuestAgent.listen(join(stateDir, 'qga'), {
      'guest-ping': () => returns({}),
      'guest-info': () => returns({ version: '7.2.22' }),
      'guest-get-time': () => returns((Date.now() + ahead) * 1e6),
      'guest-set-time': ({ time }) => {
        ahead = Number(time) / 1e6 - Date.now()
        return returns({})
      },
      ...programs((path, arg, input) => {
        execs.push(path)
        if (path === 'sh') {
          scripts.push(input)
          return { out: `written ${trust?.revoked.sha256}\n` }
        }
        if (path === 'tail') return { out: '' }
        const there = arg.slice(3).filter((name) => name in files)
        return {
          code: there.length === arg.length - 3 ? 0 : 1,
          out: there.map((name) => `==> ${name} <==\n${files[name]}`).join('\n'),
        }
      }),
    })
    running = [{ id: ID, vm, policy: 'auto', startedAt: 1 }]
    const run: Run = async () => Promise.reject(new Error('ENOENT'))
    watch = new GuestWatch({
      backend: {
        guestChannel: async () => connect(join(stateDir, 'qga')),
        onResume: (fn) => {
          resumed = fn
          return () => {}
        },
      },
      guests: () => running,
      trustOf: () => trust,
      uptimeMs: () => performance.now(),
      run,
      clock: systemClock,
      log: silentLog,
    })
  })
  afterEach(async () => {
    watch.stop()
    await peer.close()
    await rm(stateDir, { recursive: true, force: true })
  })

  const state = () => watch.state(ID)
  const act = () => watch.clock(ID)?.lastAct

  it('is its clock, its guest agent and how cloud-init went, soon after it starts', async () => {
    files = {
      [CLOUD_INIT_FILES.status]: STATUS,
      [CLOUD_INIT_FILES.result]: RESULT,
      [PAYLOAD_REPORT]: `${ID}\ndisk ok\nclock ok\nend\n`,
    }
    let told = 0
    watch.onChange(() => told++)
    watch.start()
    await expect.poll(state, { timeout: 5_000 }).toMatchObject({
      guestAgent: 'answering',
      guestAgentVersion: '7.2.22',
      cloudInit: 'done',
      modules: [],
      fleetPayload: 'applied',
    })
    expect(watch.clock(ID)).toMatchObject({ source: 'guest_agent' })
    expect(watch.hostClock()).toMatchObject({ state: '' })
    expect(told).toBe(2)
  })

  it('is that the part of the fleet is missing once cloud-init is done', async () => {
    files = { [CLOUD_INIT_FILES.status]: STATUS, [CLOUD_INIT_FILES.result]: RESULT }
    watch.start()
    await expect.poll(() => state()?.fleetPayload, { timeout: 5_000 }).toBe('not_applied')
  })

  it('is asked often while cloud-init is at work', async () => {
    files = { [CLOUD_INIT_FILES.status]: STATUS }
    watch.start()
    await expect.poll(() => state()?.cloudInit, { timeout: 5_000 }).toBe('running')
    files[CLOUD_INIT_FILES.result] = RESULT
    await expect.poll(() => state()?.cloudInit, { timeout: 15_000 }).toBe('done')
  }, 30_000)

  it('is nothing of cloud-init where the guest runs no programs for it, and the rest all the same', async () => {
    peer.commands['guest-exec'] = () => refuses('Command guest-exec has been disabled')
    await writeFile(vm.serialLog, `boot\n${payloadMark('applied', ID)}login: `)
    watch.start()
    await expect
      .poll(state, { timeout: 5_000 })
      .toMatchObject({ guestAgent: 'answering', cloudInit: '', fleetPayload: 'applied' })
    expect(watch.clock(ID)).toMatchObject({ source: 'guest_agent' })
  })

  it('is silence of a VM without a channel, whose console may still say how the part of the fleet went', async () => {
    await peer.close()
    await writeFile(vm.serialLog, `boot\n${payloadMark('incomplete', ID)}login: `)
    watch.start()
    await expect.poll(() => state()?.fleetPayload, { timeout: 5_000 }).toBe('not_applied')
    expect(state()).toMatchObject({ guestAgent: 'silent', cloudInit: '' })
    expect(watch.clock(ID)).toMatchObject({ source: '' })
  })

  it('leads to its clock being set as soon as it is resumed', async () => {
    watch.start()
    await expect.poll(() => watch.clock(ID), { timeout: 5_000 }).toBeDefined()
    ahead = -70_000
    resumed(ID)
    await expect.poll(act, { timeout: 5_000 }).toMatchObject({ cause: 'resume', means: 'set_time', result: 'done' })
    expect(Math.abs(ahead)).toBeLessThan(1_000)
  })

  it('leads to its clock being set when a person asks, whatever it is', async () => {
    watch.start()
    const clock = await watch.setClock(ID, new AbortController().signal)
    expect(clock?.lastAct).toMatchObject({ cause: 'asked', means: 'set_time', result: 'done' })
    expect(Math.abs(Number(clock?.offsetUs))).toBeLessThan(1_000_000)
  })

  it('is never an earlier act when what a person asks for does not come about in time', async () => {
    watch.start()
    expect((await watch.setClock(ID, new AbortController().signal))?.lastAct).toMatchObject({ result: 'done' })
    const asked = new AbortController()
    peer.commands['guest-ping'] = () => {
      asked.abort()
      return undefined
    }
    await expect(watch.setClock(ID, asked.signal)).rejects.toMatchObject({ code: 'clock/not-set' })
  })

  it('is not there to be asked for once the VM does not run', async () => {
    watch.start()
    running = []
    await expect(watch.setClock(ID, new AbortController().signal)).rejects.toMatchObject({ code: 'clock/not-running' })
  })

  it('is brought a list of revoked certificates at once, through the shell in it', async () => {
    const listed = (text: string) => {
      trust = { userCas: ['ssh-ed25519 CA'], hostCertificate: '', revoked: revokedList(Buffer.from(text)) }
    }
    listed('')
    watch.start()
    await expect.poll(() => watch.trust(ID)?.revocations, { timeout: 5_000 }).toBe('current')
    listed('newer')
    await expect.poll(() => scripts.length, { timeout: 5_000 }).toBe(2)
    expect(scripts[1]).toContain(Buffer.from('newer').toString('base64'))
    await expect.poll(() => watch.trust(ID)?.krlSha256).toBe(trust?.revoked.sha256)
  })

  it('is nothing where the hypervisor has no channel, which is said, and nothing is guessed', async () => {
    const none = new GuestWatch({
      backend: {},
      guests: () => running,
      trustOf: () => trust,
      uptimeMs: () => 0,
      run: async () => Promise.reject(new Error('ENOENT')),
      clock: systemClock,
      log: silentLog,
    })
    none.start()
    expect(none.state(ID)).toBeUndefined()
    expect(none.trust(ID)).toBeUndefined()
    trust = { userCas: ['ssh-ed25519 CA'], hostCertificate: '', revoked: revokedList(new Uint8Array()) }
    expect(none.trust(ID)).toMatchObject({ revocations: 'unreachable', detail: expect.stringContaining('no channel') })
    expect(none.clock(ID)).toMatchObject({ source: '', detail: expect.stringContaining('no channel') })
    await expect(none.setClock(ID, new AbortController().signal)).rejects.toMatchObject({ code: 'clock/not-running' })
    none.stop()
  })
})
