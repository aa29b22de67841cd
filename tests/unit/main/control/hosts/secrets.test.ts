import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { sealedSecrets } from '../../../../../src/main/control/hosts/sealed-secrets.ts'
import { giveSecrets, HostSecrets, keepOf, type SecretKeeper } from '../../../../../src/main/control/hosts/secrets.ts'
import type { Keychain } from '../../../../../src/main/control/ports.ts'

const HOST = 'ab'.repeat(16)

function aKeeper() {
  const kept = new Map<string, string>()
  const seen = { reads: 0 }
  const keeper: SecretKeeper = {
    read: async (id) => {
      seen.reads++
      return kept.get(id)
    },
    write: async (id, secret) => void kept.set(id, secret),
    remove: async (id) => void kept.delete(id),
  }
  return { keeper, kept, seen }
}

describe('secrets of hosts', () => {
  it('are in memory unless a person says otherwise', async () => {
    const { keeper, kept } = aKeeper()
    const secrets = new HostSecrets(keeper)
    await giveSecrets(secrets, HOST, { password: 'pw', passphrase: '' }, 'memory')
    expect(secrets.of(HOST)).toEqual({ password: 'pw' })
    expect([secrets.keptIn(HOST), kept.size]).toEqual(['memory', 0])
    expect(await new HostSecrets(keeper).load(HOST)).toEqual({})
  })

  it('are there again after a start when they are in the keychain, read once', async () => {
    const { keeper, seen } = aKeeper()
    await giveSecrets(new HostSecrets(keeper), HOST, { password: 'pw', sudoPassword: 'su' }, 'keychain')
    const later = new HostSecrets(keeper)
    seen.reads = 0
    expect(await Promise.all([later.load(HOST), later.load(HOST)])).toEqual([
      { password: 'pw', sudoPassword: 'su' },
      { password: 'pw', sudoPassword: 'su' },
    ])
    expect([later.keptIn(HOST), seen.reads]).toEqual(['keychain', 1])
  })

  it('cannot go to a keychain that is not there, and then nothing is taken', async () => {
    const secrets = new HostSecrets()
    await expect(giveSecrets(secrets, HOST, { password: 'pw' }, 'keychain')).rejects.toMatchObject({
      code: 'app/part-missing',
    })
    expect(secrets.of(HOST)).toEqual({})
  })

  it('leave the keychain when they are given anew for memory alone', async () => {
    const { keeper, kept } = aKeeper()
    const secrets = new HostSecrets(keeper)
    await giveSecrets(secrets, HOST, { password: 'old' }, 'keychain')
    await giveSecrets(secrets, HOST, { password: 'new' }, 'memory')
    expect([kept.size, secrets.keptIn(HOST)]).toEqual([0, 'memory'])
  })

  it('are forgotten everywhere', async () => {
    const { keeper, kept } = aKeeper()
    const secrets = new HostSecrets(keeper)
    await giveSecrets(secrets, HOST, { password: 'pw' }, 'keychain')
    await secrets.forget(HOST)
    await secrets.forget(HOST)
    expect([kept.size, secrets.of(HOST), secrets.keptIn(HOST), await secrets.load(HOST)]).toEqual([
      0,
      {},
      undefined,
      {},
    ])
  })

  it('lose a password that the host refused, in the keychain too, and nothing else', async () => {
    const { keeper } = aKeeper()
    const secrets = new HostSecrets(keeper)
    await giveSecrets(secrets, HOST, { password: 'wrong', sudoPassword: 'su' }, 'keychain')
    await secrets.refused(HOST)
    expect(secrets.of(HOST)).toEqual({ sudoPassword: 'su' })
    expect(await new HostSecrets(keeper).load(HOST)).toEqual({ sudoPassword: 'su' })
  })

  it('are asked for when the keychain does not open, which is tried again next time', async () => {
    const { keeper, kept } = aKeeper()
    kept.set(HOST, JSON.stringify({ password: 'pw' }))
    let locked = true
    const secrets = new HostSecrets({
      ...keeper,
      read: (id) => (locked ? Promise.reject(new Error('locked')) : keeper.read(id)),
    })
    expect(await secrets.load(HOST)).toEqual({})
    locked = false
    expect(await secrets.load(HOST)).toEqual({ password: 'pw' })
  })

  it.each(['not json', '[]', '{"password":7,"other":"x"}', 'null'])(
    'take nothing from a damaged entry: %s',
    async (text) => {
      const { keeper, kept } = aKeeper()
      kept.set(HOST, text)
      expect(await new HostSecrets(keeper).load(HOST)).toEqual({})
    },
  )

  it('tell whoever shows where they are', async () => {
    const secrets = new HostSecrets(aKeeper().keeper)
    const told: string[] = []
    const stop = secrets.onChange((id) => told.push(id))
    secrets.give(HOST, { password: 'pw' })
    await secrets.forget(HOST)
    stop()
    secrets.give(HOST, { password: 'pw' })
    expect(told).toEqual([HOST, HOST])
  })

  it('stay where the word says, and nowhere for another word', () => {
    expect(['', 'memory', 'keychain'].map(keepOf)).toEqual(['memory', 'memory', 'keychain'])
    expect(() => keepOf('disk')).toThrow(expect.objectContaining({ code: 'input/invalid' }))
  })
})

describe('secrets sealed by the keychain', () => {
  const key = randomBytes(64)
  const xor = async (bytes: Buffer) => Buffer.from(bytes.map((byte, i) => byte ^ key[i % 64]!))
  const keychain: Keychain = { seal: xor, open: xor }

  it('lie on the disk in files of their own that say nothing', async () => {
    const dir = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-sealed-')), 'secrets')
    const keeper = sealedSecrets(dir, keychain)
    expect(await keeper.read(HOST)).toBeUndefined()
    await keeper.write(HOST, 'hidden-word')
    expect(await keeper.read(HOST)).toBe('hidden-word')
    const file = path.join(dir, HOST)
    expect(fs.readFileSync(file, 'latin1')).not.toContain('hidden')
    expect([fs.statSync(file).mode & 0o777, fs.statSync(dir).mode & 0o777]).toEqual([0o600, 0o700])
    await keeper.remove(HOST)
    await keeper.remove(HOST)
    expect(fs.readdirSync(dir)).toEqual([])
    fs.rmSync(path.dirname(dir), { recursive: true })
  })

  it('are refused with the keychain’s own words', async () => {
    const broken = () => Promise.reject(new Error('it is locked'))
    const keeper = sealedSecrets('/nowhere', { seal: broken, open: broken })
    const fault = await keeper.write(HOST, 'hidden-word').catch((error: unknown) => error)
    expect(fault).toMatchObject({ code: 'app/part-missing', params: { part: expect.stringContaining('it is locked') } })
    expect(JSON.stringify(fault)).not.toContain('hidden-word')
  })

  it('never leave their folder', async () => {
    await expect(sealedSecrets('/tmp', keychain).read('../x')).rejects.toMatchObject({ code: 'app/bug' })
  })
})
