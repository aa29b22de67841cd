import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isId } from '../../../ipc/names.ts'
import { KiB } from '../../../ipc/units.ts'
import { readBounded } from '../../bounded-file.ts'
import type { Keychain } from '../ports.ts'
import { synced } from '../synced.ts'
import { encrypted, KEY_BYTES, opened, parseSealed, type Sealed, stretched } from './sealed-key.ts'

/** A private key to sign with, or why there is none: a sentence without its full stop, and what to do. */
export type OpenedKey = { kind: 'key'; key: KeyObject } | { kind: 'unusable'; detail: string; next: string }

/** Private keys of SSH authorities by the id of their CA. They are nowhere else: not in the database, a log, an argument. */
export interface CaKeys {
  /** Durable when it resolves; where it is kept. */
  keep(id: string, key: KeyObject): Promise<'keychain' | 'file'>
  /** Never rejects. */
  open(id: string): Promise<OpenedKey>
  /** Idempotent. */
  remove(id: string): Promise<void>
  /** Of every key that is kept, whether it opens or not. */
  list(): Promise<{ id: string; held: 'keychain' | 'file' }[]>
}

export interface CaKeyDeps {
  dir: string
  keychain?: Keychain | undefined
  /** Of EITRI_CA_PASSPHRASE_FILE or typed; rejects with why it cannot be read. Undefined = none was given. */
  passphrase(): Promise<string | undefined>
}

const FILE_BYTES = 64 * KiB
const SUFFIX = '.key'
/** Opens the files of those who gave no passphrase. */
const KEY_FILE = 'open.secret'

/** Files of 0600, each sealed by the keychain, by a passphrase, or by a random key that lies beside them. */
export class CaKeyFiles implements CaKeys {
  readonly #deps: CaKeyDeps
  readonly #stretched = new Map<string, Promise<Buffer>>()

  constructor(deps: CaKeyDeps) {
    this.#deps = deps
  }

  async keep(id: string, key: KeyObject): Promise<'keychain' | 'file'> {
    const secret = key.export({ type: 'pkcs8', format: 'der' })
    const data = await this.#deps.keychain?.seal(secret).catch(() => undefined)
    await this.#write(id, data ? { by: 'keychain', data } : await this.#lock(id, secret))
    return data ? 'keychain' : 'file'
  }

  async open(id: string): Promise<OpenedKey> {
    try {
      const secret = await this.#secretOf(id, await this.#read(id))
      return { kind: 'key', key: createPrivateKey({ key: secret, type: 'pkcs8', format: 'der' }) }
    } catch (error) {
      if (error instanceof Unusable) return { kind: 'unusable', detail: error.message, next: error.next }
      return { kind: 'unusable', detail: said(error), next: '' }
    }
  }

  async remove(id: string): Promise<void> {
    await rm(this.#file(id), { force: true })
    await synced(this.#deps.dir).catch(() => {})
  }

  async list(): Promise<{ id: string; held: 'keychain' | 'file' }[]> {
    return (await this.#all()).map(({ id, sealed }) => ({ id, held: sealed.by === 'keychain' ? 'keychain' : 'file' }))
  }

  /** `none` = no file is sealed by a passphrase; `wanted` = one is and none was given; else whether it opens them all. */
  async passphraseState(): Promise<'none' | 'wanted' | 'opens' | 'wrong'> {
    const locked = (await this.#all()).filter(({ sealed }) => sealed.by === 'passphrase')
    if (locked.length === 0) return 'none'
    const given = await this.#deps.passphrase().then(
      (passphrase) => passphrase !== undefined,
      () => true,
    )
    if (!given) return 'wanted'
    const opened = await Promise.all(locked.map(({ id }) => this.open(id)))
    return opened.every(({ kind }) => kind === 'key') ? 'opens' : 'wrong'
  }

  /** Files that whoever has this folder could open are sealed by the passphrase from now on; how many. Nothing without one. */
  async lockByPassphrase(): Promise<number> {
    if ((await this.#deps.passphrase()) === undefined) return 0
    const all = await this.#all()
    const open = all.filter(({ sealed }) => sealed.by === 'key-file')
    for (const { id, sealed } of open) await this.#write(id, await this.#lock(id, await this.#secretOf(id, sealed)))
    // One that could not be read now may need it.
    if (all.length === (await this.#ids()).length) await rm(join(this.#deps.dir, KEY_FILE), { force: true })
    return open.length
  }

  async #lock(id: string, secret: Buffer): Promise<Sealed> {
    const passphrase = await this.#deps.passphrase()
    if (passphrase === undefined) return { by: 'key-file', ...encrypted(id, await this.#keyBeside(true), secret) }
    const salt = await this.#saltOf(passphrase)
    return { by: 'passphrase', salt, ...encrypted(id, await this.#stretch(passphrase, salt), secret) }
  }

  async #secretOf(id: string, sealed: Sealed): Promise<Buffer> {
    if (sealed.by === 'keychain') return await this.#fromKeychain(sealed.data)
    if (sealed.by === 'key-file') {
      const secret = opened(id, await this.#keyBeside(false), sealed)
      if (secret) return secret
      throw new Unusable(`${KEY_FILE} beside it is not the one it was sealed with`, RESTORE)
    }
    const passphrase = await this.#deps.passphrase()
    if (passphrase === undefined) throw new Unusable('it needs the passphrase it was sealed with', GIVE_PASSPHRASE)
    const secret = opened(id, await this.#stretch(passphrase, sealed.salt), sealed)
    if (!secret) throw new Unusable('the passphrase given does not open it', GIVE_PASSPHRASE)
    return secret
  }

  async #fromKeychain(data: Buffer): Promise<Buffer> {
    const { keychain } = this.#deps
    if (!keychain) throw new Unusable('it is in the keychain, which only the desktop app can ask', OPEN_APP)
    return await keychain.open(data).catch((error: unknown) => {
      throw new Unusable(`the keychain does not give it: ${said(error)}`, 'Unlock the keychain and try again.')
    })
  }

  async #keyBeside(make: boolean): Promise<Buffer> {
    const file = join(this.#deps.dir, KEY_FILE)
    try {
      const key = await readBounded(file, FILE_BYTES)
      if (key.length === KEY_BYTES) return key
      throw new Unusable(`${KEY_FILE} beside it is damaged`, RESTORE)
    } catch (error) {
      if (!isAbsent(error)) throw error
      if (!make) throw new Unusable(`${KEY_FILE} is not beside it any more`, RESTORE)
    }
    const key = randomBytes(KEY_BYTES)
    await writeSecret(file, key)
    return key
  }

  /** Once per salt and process: it takes a good part of a second. */
  #stretch(passphrase: string, salt: Buffer): Promise<Buffer> {
    const name = salt.toString('hex')
    const known = this.#stretched.get(name) ?? stretched(passphrase, salt)
    this.#stretched.set(name, known)
    return known
  }

  /** That of the keys which this passphrase opens. Raises for one that opens none of them: a slip would lose what it seals. */
  async #saltOf(passphrase: string): Promise<Buffer> {
    let some = false
    for (const { id, sealed } of await this.#all()) {
      if (sealed.by !== 'passphrase') continue
      some = true
      if (opened(id, await this.#stretch(passphrase, sealed.salt), sealed)) return sealed.salt
    }
    if (some) throw new Unusable('the passphrase given opens none of the keys that are sealed by one', GIVE_PASSPHRASE)
    return randomBytes(16)
  }

  async #ids(): Promise<string[]> {
    const names = await readdir(this.#deps.dir).catch(() => [])
    const ids = names.filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length))
    return ids.filter(isId)
  }

  async #all(): Promise<{ id: string; sealed: Sealed }[]> {
    const read = (await this.#ids()).map(async (id) => ({ id, sealed: await this.#read(id).catch(() => undefined) }))
    return (await Promise.all(read)).flatMap(({ id, sealed }) => (sealed ? [{ id, sealed }] : []))
  }

  async #read(id: string): Promise<Sealed> {
    const bytes = await readBounded(this.#file(id), FILE_BYTES).catch((error: unknown) => {
      if (isAbsent(error)) throw new Unusable('its file is not here; a backup holds no private keys', RESTORE)
      throw new Unusable(`its file cannot be read: ${said(error)}`, 'Check the permissions of the data folder.')
    })
    const sealed = parseSealed(bytes.toString('utf8'))
    if (!sealed) throw new Unusable('its file is damaged', RESTORE)
    return sealed
  }

  #write(id: string, { by, ...parts }: Sealed): Promise<void> {
    const fields = Object.entries(parts).map(([name, bytes]) => [name, (bytes as Buffer).toString('base64')])
    const text = JSON.stringify({ version: 1, sealed_by: by, ...Object.fromEntries(fields) })
    return writeSecret(this.#file(id), `${text}\n`)
  }

  #file(id: string): string {
    if (!isId(id)) throw new Error('no id of a CA')
    return join(this.#deps.dir, `${id}${SUFFIX}`)
  }
}

const RESTORE = 'Import its private key again with "eitri ca import", or use another CA.'
const GIVE_PASSPHRASE = 'Start again with EITRI_CA_PASSPHRASE_FILE naming a file that holds it.'
const OPEN_APP = 'Start the desktop app instead of "eitri serve".'

class Unusable extends Error {
  readonly next: string
  constructor(detail: string, next: string) {
    super(detail)
    this.next = next
  }
}

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'
const said = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 200)

async function writeSecret(file: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await chmod(dirname(file), 0o700)
  const handle = await open(`${file}.new`, 'w', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.new`, file)
  await synced(dirname(file))
}
