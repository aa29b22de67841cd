import { USER_KEYS } from './config-keys.ts'
import { type ConfigReader, keyAt, noItem, truthOf, valueAt } from './config-reader.ts'
import type { YamlMap, YamlNode } from './yaml-tree.ts'
import { textOf } from './yaml-value.ts'

const PUBLIC_KEY = /(?:^|[\s"])(?:ssh-|ecdsa-|sk-)[a-z0-9@.-]+ +[A-Za-z0-9+/=]{16,}/
export const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/

/** One item of users. */
export function checkUser(reader: ConfigReader, item: YamlNode): void {
  if (item.kind === 'scalar' && textOf(item) !== undefined) return
  // Names may stand in lists of their own.
  if (item.kind === 'list') return
  if (item.kind !== 'map') {
    noItem(reader, item, 'users')
    return
  }
  reader.map(item, USER_KEYS, 'in a user')
  if (
    !['name', 'snapuser', '<<'].some((name) => item.pairs.some(([key]) => key.kind === 'scalar' && key.text === name))
  )
    reader.tell(
      item.start,
      'warning',
      'no-name',
      'a user without a name changes the default user of the image',
      'Give it "name:".',
    )
  for (const name of ['ssh_authorized_keys', 'ssh-authorized-keys']) reader.each(valueAt(item, name), checkKey)
  checkPassword(reader, item)
}

function checkPassword(reader: ConfigReader, user: YamlMap): void {
  const lock = valueAt(user, 'lock_passwd') ?? valueAt(user, 'lock-passwd')
  const names = ['plain_text_passwd', 'hashed_passwd', 'passwd', 'plain-text-passwd', 'hashed-passwd']
  const name = names.find((n) => keyAt(user, n))
  const key = name === undefined ? undefined : keyAt(user, name)
  if (!key || name === undefined) return
  if (truthOf(lock) !== false && !(lock && reader.isTemplate(lock)))
    reader.tell(
      key.start,
      'warning',
      'locked-password',
      'the account is locked unless lock_passwd is false, so this password opens nothing',
      'Add "lock_passwd: false", or take the password out.',
    )
  const value = valueAt(user, name)
  if (value && /^plain/.test(name)) clearText(reader, value)
}

function clearText(reader: ConfigReader, node: YamlNode): void {
  const text = textOf(node)
  if (text === undefined || text === '' || text.startsWith('$') || reader.isTemplate(node)) return
  reader.tell(
    node.start,
    'info',
    'secret-in-clear',
    'a password stands here as it is, and whoever may read the VM or its guest can read it',
    'Give its hash instead, as "mkpasswd" or "openssl passwd -6" make one.',
  )
}

/** One public key. */
export function checkKey(reader: ConfigReader, item: YamlNode): void {
  const text = textOf(item) ?? ''
  if (reader.isTemplate(item)) return
  if (PRIVATE_KEY.test(text))
    reader.tell(
      item.start,
      'error',
      'private-key',
      'this is a private key, which lets nobody in and is no secret any more once it is in a guest',
      'Give the public key: the file that ends in .pub.',
    )
  else if (!PUBLIC_KEY.test(text))
    reader.tell(
      item.start,
      'warning',
      'ssh-key',
      'this is no OpenSSH public key',
      'Give the one line of the file that ends in .pub.',
    )
}

function checkPasswordOf(reader: ConfigReader, user: YamlNode): void {
  const given = user.kind === 'map' ? valueAt(user, 'password') : undefined
  if (given) clearText(reader, given)
}

/** Passwords of accounts the image has. */
export function checkPasswords(reader: ConfigReader, root: YamlMap): void {
  const password = valueAt(root, 'password')
  if (password) clearText(reader, password)
  const chpasswd = valueAt(root, 'chpasswd')
  if (chpasswd?.kind === 'map') {
    reader.each(valueAt(chpasswd, 'users'), checkPasswordOf)
    const list = valueAt(chpasswd, 'list')
    if (list) clearText(reader, list)
  }
}
