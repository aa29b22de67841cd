/** What a prompt of ssh is about. `of` is a login as ssh writes it: user@host. */
export type SshPrompt =
  | { kind: 'passphrase'; file: string }
  | { kind: 'password'; of: string }
  /** The server's own words, by keyboard-interactive. */
  | { kind: 'server'; of: string; prompt: string }
  /** Of an ssh that a ProxyCommand runs, with the person's own rules about host keys. */
  | { kind: 'host-key'; host: string; keyType: string; fingerprint: string }
  | { kind: 'other'; prompt: string }

/** Pure: the words are OpenSSH's own, which it does not translate. */
export function readPrompt(text: string): SshPrompt {
  const words = text.trim()
  const file = /^Enter passphrase for (?:key )?'(.+)':$/s.exec(words)?.[1]
  if (file !== undefined) return { kind: 'passphrase', file }
  const of = /^(\S+@\S+)'s password:$/.exec(words)?.[1]
  if (of !== undefined) return { kind: 'password', of }
  const server = /^\((\S+@[^\s)]+)\) (.*)$/s.exec(words)
  if (server) return { kind: 'server', of: server[1]!, prompt: server[2]! }
  const host = /^The authenticity of host '(\S+?)(?: \(.*\))?' can't be established/.exec(words)?.[1]
  const key = /^(\S+) key fingerprint is (SHA256:\S+?)\.?$/m.exec(words)
  if (host !== undefined && key) return { kind: 'host-key', host, keyType: key[1]!, fingerprint: key[2]! }
  return { kind: 'other', prompt: words }
}
