import { beforeEach, describe, expect, it } from 'vitest'
import { GuestAgentError } from '../../../../src/agent/guest/guest-agent.ts'
import { GuestTrusts } from '../../../../src/agent/guest/guest-trusts.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { type GuestTrustFiles, revokedList } from '../../../../src/agent/seed/ssh-trust.ts'
import { systemClock } from '../../../../src/ipc/base/clock.ts'

const ID = 'a'.repeat(32)
const GUEST = { id: ID, vm: agentLayout('/state').vmDir(ID), policy: 'auto' as const, startedAt: 1 }
const signal = new AbortController().signal
const listOf = (text: string) => revokedList(Buffer.from(text))

describe('the SSH trust of running guests', () => {
  let now: number
  let wanted: GuestTrustFiles | undefined
  let seeded: boolean | undefined
  let answer: string | GuestAgentError
  let scripts: string[]
  let changes: number
  let trusts: GuestTrusts
  const agent = {
    async script(text: string) {
      scripts.push(text)
      if (answer instanceof Error) throw answer
      return { code: 0, stdout: answer, stderr: '' }
    },
  }
  const visit = () => trusts.visit(GUEST, agent, signal)
  const said = () => trusts.of(ID)

  beforeEach(() => {
    now = 0
    wanted = { userCas: ['ssh-ed25519 CA'], hostCertificate: '', revoked: listOf('') }
    seeded = true
    scripts = []
    changes = 0
    answer = `written ${listOf('').sha256}`
    trusts = new GuestTrusts({
      clock: { ...systemClock, now: () => 1_700_000_000_000 + now, monotonic: () => now },
      wanted: () => wanted,
      seeded: () => seeded,
      onChange: () => changes++,
    })
  })

  it('is current once the guest holds the list that is wanted, and older from the next one on', async () => {
    expect(trusts.hasNews(GUEST)).toBe(true)
    await visit()
    expect(said()).toMatchObject({ revocations: 'current', krlSha256: listOf('').sha256, detail: '' })
    expect([trusts.hasNews(GUEST), changes]).toEqual([false, 1])
    wanted = { ...wanted!, revoked: listOf('one') }
    expect(trusts.hasNews(GUEST)).toBe(true)
    expect(said()?.revocations).toBe('older')
    answer = `written ${listOf('one').sha256}`
    await visit()
    expect(said()?.revocations).toBe('current')
    expect(scripts.at(-1)).toContain(Buffer.from('one').toString('base64'))
  })

  it('is looked at again after a while, whatever somebody did to it in the guest', async () => {
    await visit()
    await visit()
    expect(scripts).toHaveLength(1)
    now += 600_000
    await visit()
    expect(scripts).toHaveLength(2)
  })

  it('is unreachable while nothing in the guest answers, and brought as soon as something does', async () => {
    trusts.silent(GUEST)
    trusts.silent(GUEST)
    expect(said()).toMatchObject({
      revocations: 'unreachable',
      krlSha256: '',
      detail: expect.stringMatching(/answers/),
    })
    expect(changes).toBe(1)
    await visit()
    expect(said()?.revocations).toBe('current')
    answer = new GuestAgentError('silent', 'gone')
    now += 600_000
    await expect(visit()).rejects.toThrow('gone')
    trusts.silent(GUEST)
    expect(said()).toMatchObject({ revocations: 'unreachable', krlSha256: listOf('').sha256 })
  })

  it('has failed with the guest’s own words, and is tried again', async () => {
    answer = 'failed /etc/ssh/eitri_revoked_keys cannot be written'
    await visit()
    expect(said()).toMatchObject({
      revocations: 'failed',
      detail: 'Not all of it could be written: /etc/ssh/eitri_revoked_keys cannot be written.',
    })
    expect([trusts.hasNews(GUEST), trusts.wantsIn(ID)]).toEqual([false, 60_000])
    answer = `written ${listOf('').sha256}`
    now += 60_000
    await visit()
    expect(said()?.revocations).toBe('current')
  })

  it('has failed where the guest agent may run no programs', async () => {
    answer = new GuestAgentError('refused', 'The command guest-exec has been disabled')
    await visit()
    expect(said()).toMatchObject({
      revocations: 'failed',
      detail: expect.stringMatching(/runs no programs \(.*disabled\)/),
    })
    expect(trusts.hasNews(GUEST)).toBe(false)
  })

  it('is not said to have failed while a first boot is under way, and is where the fleet’s part was not wanted', async () => {
    answer = 'absent'
    seeded = undefined
    await visit()
    expect(said()).toMatchObject({ revocations: '', detail: '' })
    expect(trusts.wantsIn(ID)).toBe(5_000)
    seeded = false
    now += 5_000
    await visit()
    expect(said()).toMatchObject({ revocations: 'failed', detail: expect.stringMatching(/no settings of the fleet/) })
  })

  it('is nothing for a guest the fleet has nothing for, and forgotten with its run', async () => {
    await visit()
    trusts.forget(ID)
    expect(said()).toBeUndefined()
    wanted = undefined
    await visit()
    trusts.silent(GUEST)
    expect([said(), trusts.hasNews(GUEST), scripts.length]).toEqual([undefined, false, 1])
  })
})
