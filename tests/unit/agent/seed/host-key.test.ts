import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { utils } from 'ssh2'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureHostKey, generateHostKey, publicKeyOf } from '../../../../src/agent/seed/host-key.ts'

describe("a guest's host key", () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'eitri-key-'))
  })
  afterEach(() => rm(dir, { recursive: true }))

  it('is read by another SSH implementation, and its halves belong together', () => {
    const key = generateHostKey('web')
    const parsed = utils.parseKey(key.privateKey)
    if (parsed instanceof Error) throw parsed
    expect(parsed.type).toBe('ssh-ed25519')
    expect(parsed.comment).toBe('web')
    expect(key.publicKey).toBe(`ssh-ed25519 ${parsed.getPublicSSH().toString('base64')} web`)
    expect(publicKeyOf(key.privateKey)).toBe(key.publicKey)
    const signature = parsed.sign(Buffer.from('hello'))
    expect(parsed.verify(Buffer.from('hello'), signature)).toBe(true)
  })

  it('is made once and kept over retries, for its owner alone', async () => {
    const path = join(dir, 'host_key')
    const first = await ensureHostKey(path, 'web')
    expect(await ensureHostKey(path, 'web')).toEqual(first)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readFile(path, 'utf8')).toBe(first.privateKey)
  })

  it('is made anew when the file is not a key', async () => {
    const path = join(dir, 'host_key')
    await writeFile(path, 'torn')
    expect((await ensureHostKey(path, 'web')).publicKey).toMatch(/^ssh-ed25519 AAAA/)
  })
})
