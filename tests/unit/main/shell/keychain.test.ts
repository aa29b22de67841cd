import { EventEmitter } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type ParentPort, shellKeychain } from '../../../../src/main/serving/shell-keychain.ts'
import { type SafeStorage, serveKeychain } from '../../../../src/main/shell/keychain.ts'

class FakeStorage implements SafeStorage {
  available = true
  backend = 'gnome_libsecret'
  refuses = ''
  sealed: string[] = []
  isAsyncEncryptionAvailable = async () => this.available
  getSelectedStorageBackend = () => this.backend
  encryptStringAsync = async (text: string) => {
    this.sealed.push(text)
    return Buffer.from(`box(${text})`)
  }
  decryptStringAsync = async (box: Buffer) => {
    if (this.refuses !== '') throw new Error(this.refuses)
    return { result: /^box\((.*)\)$/.exec(String(box))?.[1] ?? '' }
  }
}

/** Both ends over a port that copies, as a structured clone does. */
function both(storage: FakeStorage, platform: NodeJS.Platform = 'linux') {
  const [shell, control] = [new EventEmitter(), new EventEmitter()]
  const copy = (value: unknown) => structuredClone(value)
  serveKeychain(
    Object.assign(shell, { postMessage: (m: unknown) => control.emit('message', { data: copy(m) }) }),
    storage,
    platform,
  )
  const posted: unknown[] = []
  const port = Object.assign(control, {
    postMessage: (m: unknown) => {
      posted.push(copy(m))
      shell.emit('message', copy(m))
    },
  })
  return { keychain: shellKeychain(port as unknown as ParentPort)!, posted, shell, control }
}

afterEach(() => vi.useRealTimers())

describe('the keychain of the desktop', () => {
  it('gives back what it sealed, byte for byte', async () => {
    const storage = new FakeStorage()
    const { keychain } = both(storage)
    const secret = Buffer.from([0, 255, 10, 13, 128])
    const sealed = await keychain.seal(secret)
    expect(sealed.includes(secret)).toBe(false)
    expect((await keychain.open(sealed)).equals(secret)).toBe(true)
  })

  it('answers each question with its own answer, however many are open', async () => {
    const { keychain } = both(new FakeStorage())
    const secrets = Array.from({ length: 20 }, (_, i) => Buffer.from(`secret ${i}`))
    const opened = await Promise.all(secrets.map(async (secret) => keychain.open(await keychain.seal(secret))))
    expect(opened.map(String)).toEqual(secrets.map(String))
  })

  it('seals nothing on a desktop without a keyring, where everybody knows the password', async () => {
    const storage = new FakeStorage()
    storage.backend = 'basic_text'
    await expect(both(storage).keychain.seal(Buffer.from('x'))).rejects.toThrow('this desktop has no keyring')
    expect(storage.sealed).toEqual([])
    await expect(both(storage, 'darwin').keychain.seal(Buffer.from('x'))).resolves.toBeDefined()
  })

  it('says why it gives nothing', async () => {
    const storage = new FakeStorage()
    const { keychain } = both(storage)
    storage.refuses = 'the person said no'
    await expect(keychain.open(Buffer.from('box(x)'))).rejects.toThrow('the person said no')
    storage.available = false
    await expect(keychain.open(Buffer.from('box(x)'))).rejects.toThrow('cannot be used')
  })

  it('is not waited for without end', async () => {
    vi.useFakeTimers()
    const silent = Object.assign(new EventEmitter(), { postMessage: () => {} })
    const keychain = shellKeychain(silent as unknown as ParentPort)!
    const asked = expect(keychain.seal(Buffer.from('x'))).rejects.toThrow('does not answer')
    await vi.advanceTimersByTimeAsync(120_000)
    await asked
  })

  it('takes no more questions than it can hold', async () => {
    vi.useFakeTimers()
    const silent = Object.assign(new EventEmitter(), { postMessage: () => {} })
    const keychain = shellKeychain(silent as unknown as ParentPort)!
    const all = Array.from({ length: 65 }, () => keychain.seal(Buffer.from('x')).then(String, (e: Error) => e.message))
    await vi.advanceTimersByTimeAsync(120_000)
    expect((await Promise.all(all)).filter((word) => word === 'the keychain is busy')).toHaveLength(1)
  })

  it('answers no other message, and takes no other for an answer', async () => {
    const storage = new FakeStorage()
    const { shell, control, keychain } = both(storage)
    for (const message of [
      null,
      'seal',
      { keychain: 'erase', id: 1, data: '' },
      { keychain: 'seal', id: 'x', data: '' },
    ])
      shell.emit('message', message)
    for (const data of [null, { keychain: 'answer', id: 0 }, { id: 0, data: 'x' }]) control.emit('message', { data })
    expect(storage.sealed).toEqual([])
    await expect(keychain.seal(Buffer.from('y'))).resolves.toBeDefined()
  })

  it('is not there in a process that no shell forked', () => {
    expect(shellKeychain()).toBeUndefined()
  })
})
