import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import fs from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Keychain } from '../../../../../src/main/control/ports.ts'
import { CaKeyFiles } from '../../../../../src/main/control/trust/ca-keys.ts'
import { caPassphrase } from '../../../../../src/main/control/trust/passphrase.ts'
import { anId, aTempDir } from '../a-store.ts'

let dir: string
let key: KeyObject
let id: string
beforeEach(() => {
  dir = join(aTempDir(), 'cas')
  key = generateKeyPairSync('ed25519').privateKey
  id = anId()
})

const keys = (passphrase?: string, keychain?: Keychain) =>
  new CaKeyFiles({ dir, keychain, passphrase: async () => passphrase })
const pkcs8 = (k: KeyObject) => k.export({ type: 'pkcs8', format: 'der' })
const file = () => join(dir, `${id}.key`)
async function opens(from: CaKeyFiles): Promise<boolean> {
  const opened = await from.open(id)
  return opened.kind === 'key' && pkcs8(opened.key).equals(pkcs8(key))
}
const why = async (from: CaKeyFiles) => {
  const opened = await from.open(id)
  return opened.kind === 'unusable' ? `${opened.detail}. ${opened.next}` : 'it opens'
}

class FakeKeychain implements Keychain {
  words = ''
  seal = async (secret: Buffer) => this.#turned(secret)
  open = async (sealed: Buffer) => this.#turned(sealed)
  #turned(bytes: Buffer): Buffer {
    if (this.words !== '') throw new Error(this.words)
    return Buffer.from(bytes.map((byte) => byte ^ 0x5a))
  }
}

// A passphrase is stretched on purpose, and a busy machine takes its time.
describe('private keys of CAs', { timeout: 60_000 }, () => {
  it.each([
    ['by a key beside them', undefined, undefined, 'file'],
    ['by a passphrase', 'correct horse', undefined, 'file'],
    ['by the keychain', undefined, new FakeKeychain(), 'keychain'],
  ] as const)(
    'sealed %s open again, lie in files of 0600 and are in none of them as they are',
    async (_, phrase, keychain, held) => {
      expect(await keys(phrase, keychain).keep(id, key)).toBe(held)
      expect(await opens(keys(phrase, keychain))).toBe(true)
      expect(fs.statSync(dir).mode & 0o777).toBe(0o700)
      const secret = pkcs8(key).subarray(-32)
      for (const name of fs.readdirSync(dir)) {
        expect(fs.statSync(join(dir, name)).mode & 0o777, name).toBe(0o600)
        const text = fs.readFileSync(join(dir, name))
        const { data = '' } = name.endsWith('.key') ? JSON.parse(String(text)) : {}
        for (const bytes of [text, Buffer.from(data, 'base64')]) expect(bytes.includes(secret), name).toBe(false)
      }
    },
  )

  it('do not open with another passphrase, or without one, and say so', async () => {
    await keys('correct horse').keep(id, key)
    expect(await why(keys('battery staple'))).toContain('the passphrase given does not open it')
    expect(await why(keys())).toContain('EITRI_CA_PASSPHRASE_FILE')
    expect(await keys().passphraseState()).toBe('wanted')
    expect(await keys('battery staple').passphraseState()).toBe('wrong')
    expect(await keys('correct horse').passphraseState()).toBe('opens')
  })

  it('of the keychain do not open where only the desktop app could ask it', async () => {
    const keychain = new FakeKeychain()
    await keys(undefined, keychain).keep(id, key)
    expect(await why(keys())).toContain('Start the desktop app')
    keychain.words = 'it is locked'
    expect(await why(keys(undefined, keychain))).toContain('it is locked')
  })

  it('go into files where the keychain takes nothing', async () => {
    const keychain = new FakeKeychain()
    keychain.words = 'this desktop has no keyring'
    expect(await keys(undefined, keychain).keep(id, key)).toBe('file')
    expect(await opens(keys())).toBe(true)
  })

  it('are missing after a restore from a backup, which says what to do', async () => {
    expect(await why(keys())).toBe(
      'its file is not here; a backup holds no private keys. Import its private key again with "eitri ca import", or use another CA.',
    )
  })

  it('that are damaged, or lie under the name of another, do not open', async () => {
    await keys().keep(id, key)
    const whole = fs.readFileSync(file(), 'utf8')
    for (const text of ['', '{}', whole.slice(0, -20), whole.replace('"version":1', '"version":2')]) {
      fs.writeFileSync(file(), text)
      expect(await why(keys()), text).toContain('its file is damaged')
    }
    const other = anId()
    fs.writeFileSync(join(dir, `${other}.key`), whole)
    expect((await keys().open(other)).kind).toBe('unusable')
    fs.writeFileSync(file(), whole)
    fs.writeFileSync(join(dir, 'open.secret'), Buffer.alloc(32, 1))
    expect(await why(keys())).toContain('open.secret beside it is not the one')
    fs.rmSync(join(dir, 'open.secret'))
    expect(await why(keys())).toContain('open.secret is not beside it any more')
  })

  it('are sealed by the passphrase from the first start that has one, and the key beside them goes', async () => {
    await keys().keep(id, key)
    expect(await keys().lockByPassphrase()).toBe(0)
    expect(await keys('correct horse').lockByPassphrase()).toBe(1)
    expect(fs.readdirSync(dir)).toEqual([`${id}.key`])
    expect(await opens(keys('correct horse'))).toBe(true)
    expect(await opens(keys())).toBe(false)
    expect(await keys('correct horse').lockByPassphrase()).toBe(0)
  })

  it('that cannot be read while the others are sealed keep the key beside them, which opens them later', async () => {
    const other = anId()
    await keys().keep(id, key)
    await keys().keep(other, key)
    const whole = fs.readFileSync(file())
    fs.rmSync(file())
    fs.mkdirSync(file())
    await keys('correct horse').lockByPassphrase()
    fs.rmdirSync(file())
    fs.writeFileSync(file(), whole)
    expect(await opens(keys('correct horse'))).toBe(true)
  })

  it('are sealed by no other passphrase than the first, so that none is lost to a slip', async () => {
    const [open, later] = [anId(), anId()]
    await keys('correct horse').keep(id, key)
    await keys().keep(open, key)
    const slipped = keys('corect horse')
    await expect(slipped.keep(later, key)).rejects.toThrow('opens none of the keys')
    await expect(slipped.lockByPassphrase()).rejects.toThrow('opens none of the keys')
    expect((await keys().open(open)).kind).toBe('key')
    expect(await opens(keys('correct horse'))).toBe(true)
  })

  it('all share one stretching of the passphrase in a process', async () => {
    const [one, two] = [anId(), anId()]
    const held = keys('correct horse')
    await held.keep(one, key)
    await held.keep(two, key)
    const salt = (name: string) => JSON.parse(fs.readFileSync(join(dir, `${name}.key`), 'utf8')).salt
    expect(salt(one)).toBe(salt(two))
  })

  it('are gone once removed, however often', async () => {
    await keys().keep(id, key)
    await keys().remove(id)
    await keys().remove(id)
    expect(fs.existsSync(file())).toBe(false)
  })

  it('are never looked for under a name that is no id', async () => {
    await expect(keys().remove('../../etc/passwd')).rejects.toThrow('no id')
    expect((await keys().open('../x')).kind).toBe('unusable')
  })
})

describe('the passphrase of CA keys', () => {
  const given = (env: Record<string, string>, typed?: string) =>
    caPassphrase({ env, ...(typed === undefined ? {} : { caPassphrase: typed }) })()

  it('is the first line of the file that the environment names, unless a person typed one', async () => {
    const path = join(aTempDir(), 'phrase')
    fs.writeFileSync(path, 'correct horse\nsecond line\n')
    expect(await given({ EITRI_CA_PASSPHRASE_FILE: path })).toBe('correct horse')
    expect(await given({ EITRI_CA_PASSPHRASE_FILE: path }, 'typed')).toBe('typed')
    expect(await given({})).toBeUndefined()
  })

  it('that cannot be read or is empty is said, and never taken for none', async () => {
    const path = join(aTempDir(), 'phrase')
    await expect(given({ EITRI_CA_PASSPHRASE_FILE: path })).rejects.toThrow(`${path}, which cannot be read (ENOENT)`)
    fs.writeFileSync(path, '\n')
    await expect(given({ EITRI_CA_PASSPHRASE_FILE: path })).rejects.toThrow('no passphrase in its first line')
  })
})
