import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ScriptedHost } from '../support/scripted-host.ts'

const SOON = { timeout: 5_000, interval: 20 }
const HELD = 'rack has newer data than this store: nothing is sent to it until "eitri host takeover rack --from-older".'
const STRAY = 'e'.repeat(32)
const OLD = 'f'.repeat(32)
const ENDING = 'c'.repeat(32)

let rack: ScriptedHost
beforeEach(async () => {
  rack = await ScriptedHost.open()
  await rack.vm('web')
  await rack.vm('gone')
  await rack.eitri('vm', 'delete', 'gone')
  // As a host says it that has followed a store of which this one is an older copy: what it owns has no spec.
  rack.agent.report({
    lastSeenEpoch: 1_000n,
    vms: [{ vmId: STRAY, phase: 'ready', power: 'running' }],
    quarantined: [
      { vmId: OLD, unowned: true, specJson: JSON.stringify({ vmId: OLD, name: 'old' }) },
      {
        ...{ vmId: ENDING, destroyAt: timestampFromMs(Date.UTC(2099, 0, 1)) },
        specJson: JSON.stringify({ vmId: ENDING, name: 'ending' }),
      },
    ],
  })
  await expect.poll(async () => (await eitri('host', 'show', 'rack', '--json')).json().newer_data, SOON).toBeDefined()
})
afterEach(() => rack[Symbol.asyncDispose]())

const eitri = (...argv: string[]) => rack.eitri(...argv)

describe('a host that has newer data than this store', () => {
  it.each([
    ['stop', ['web']],
    ['start', ['web']],
    ['restart', ['web']],
    ['set', ['web', '--mem-mb', '2048']],
    ['create', ['new', '--image-url', 'https://images.example.test/a.qcow2', '--image-sha256', 'd'.repeat(64)]],
    ['undelete', ['gone']],
    ['purge', ['gone', '--yes']],
    ['delete', ['web']],
  ])('takes vm %s as what is wanted, and says that nothing is sent', async (verb, argv) => {
    expect(await eitri('vm', verb, ...argv)).toMatchObject({ code: 0, err: `${HELD}\n` })
  })

  it.each([
    ['stop', ['web', '--wait']],
    ['start', ['web', '--wait']],
    ['restart', ['web', '--wait']],
    ['create', ['new', '--image-url', 'https://a.test/a', '--image-sha256', 'd'.repeat(64), '--wait']],
    ['purge', ['gone', '--yes', '--wait']],
    ['delete', ['web', '--wait']],
  ])('ends the wait of vm %s at once with that', async (verb, argv) => {
    expect(await eitri('vm', verb, ...argv)).toMatchObject({ code: 1, err: expect.stringContaining(HELD) })
  })

  it('is not taken over without a word about the older data', async () => {
    expect(await eitri('host', 'takeover', 'rack')).toMatchObject({ code: 1, err: expect.stringContaining(HELD) })
  })

  it('keeps a VM this store does not know under its id, with nothing made up, and adopting it says why not yet', async () => {
    const { out } = await eitri('vm', 'list')
    expect(out).toMatch(
      new RegExp(`^${STRAY} +ready +rack +\\? +\\? +\\? .*not known until its host is taken over$`, 'm'),
    )
    expect((await eitri('vm', 'show', STRAY)).out).toMatch(/^size: +unknown$/m)
    expect(await eitri('vm', 'adopt', STRAY)).toMatchObject({ code: 1, err: expect.stringContaining(HELD) })
  })

  it('names nobody as having deleted a VM that is in quarantine there', async () => {
    const { out } = await eitri('vm', 'list')
    expect(out).toMatch(/^old .*was deleted; kept there until adopted$/m)
    expect(out).toMatch(/^ending .*was deleted; kept there until 2099-01-01T00:00:00.000Z$/m)
  })
})
