import ssh2, { type ParsedKey } from 'ssh2'

/** A new ed25519 key as text and parsed. ssh2 writes about one in 300 in a form it cannot read again. */
export function newSshKey(): { text: string; key: ParsedKey } {
  for (;;) {
    const { private: text } = ssh2.utils.generateKeyPairSync('ed25519')
    const key = ssh2.utils.parseKey(text)
    if (!(key instanceof Error)) return { text, key }
  }
}
