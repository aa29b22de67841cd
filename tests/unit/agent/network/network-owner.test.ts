import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OwnerOptions, ownNetwork } from '../../../../src/agent/network/network-owner.ts'
import { networkPlace } from '../../../../src/agent/network/network-place.ts'
import { linuxProcesses } from '../../../../src/agent/os/process.ts'

describe('the network of a namespace', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-owner-'))
  })
  afterEach(() => rm(dir, { recursive: true }))

  const own = (change: Partial<OwnerOptions> = {}) =>
    ownNetwork({
      platform: 'linux',
      asked: 'auto',
      root: true,
      find: async (program) => `/sbin/${program}`,
      processes: linuxProcesses(),
      place: async () => networkPlace(7, dir),
      ...change,
    })

  it('is one agent’s at a time, and free again once that one lets go', async () => {
    const first = await own()
    expect(first).toMatchObject({ owns: true, because: '', place: { dir: join(dir, '7') } })
    const because = `Another agent of this host (process ${process.pid}) owns the bridge of its guests.`
    expect(await own()).toMatchObject({ owns: false, because, place: undefined })
    await first.release()
    expect(await own()).toMatchObject({ owns: true })
  })

  it('is nobody’s who may not or cannot take it', async () => {
    expect(await own({ platform: 'darwin' })).toMatchObject({ owns: false })
    expect(await own({ root: false })).toMatchObject({ owns: false, facts: { root: false } })
    expect(await own({ asked: 'user' })).toMatchObject({ owns: false, asked: 'user' })
    expect(await own({ find: async () => undefined })).toMatchObject({
      owns: false,
      facts: { missing: ['ip', 'nft', 'dnsmasq'] },
    })
  })

  it('is owned without nft and dnsmasq too: networks of an operator need neither a bridge of ours nor names', async () => {
    const owned = await own({ find: async (program) => (program === 'ip' ? '/sbin/ip' : undefined) })
    expect(owned).toMatchObject({ owns: true, facts: { missing: ['nft', 'dnsmasq'] } })
    await owned.release()
  })

  it('that cannot be marked as owned is left alone, with the reason', async () => {
    await writeFile(join(dir, '7'), '')
    const left = await own()
    expect(left.owns).toBe(false)
    expect(left.because).toMatch(/^This agent cannot take the network of its host \(.*EEXIST.*\)\.$/)
  })
})
