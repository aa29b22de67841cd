import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentKeyBlobs, identitiesIn } from '../../../../../../src/main/control/hosts/ssh/agent-keys.ts'
import { keyTypeOf } from '../../../../../../src/main/control/hosts/ssh/key-blob.ts'
import { publicKeyIn, publicKeyOf } from '../../../../../../src/main/control/hosts/ssh/public-key.ts'

const sized = (bytes: Buffer | string) => {
  const body = Buffer.from(bytes)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}
const SK = Buffer.concat([sized('sk-ssh-ed25519@openssh.com'), sized(randomBytes(32)), sized('ssh:')])
/** As ssh-keygen writes one for a security key. */
const skFile = () => {
  const head = Buffer.concat([sized('none'), sized('none'), sized(''), Buffer.from([0, 0, 0, 1])])
  const body = Buffer.concat([Buffer.from('openssh-key-v1\0'), head, sized(SK), sized('private')])
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${body.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`
}

describe('the type of a key in a file', () => {
  let dir: string
  beforeAll(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-keys-'))
  })
  afterAll(() => fs.rmSync(dir, { recursive: true }))
  const keygen = (name: string, ...options: string[]) => {
    const file = path.join(dir, name)
    execFileSync('ssh-keygen', ['-q', '-C', '', '-f', file, ...options])
    return file
  }
  const typeOf = async (file: string) => {
    const blob = await publicKeyOf(file)
    return blob && keyTypeOf(blob)
  }

  it('is read without its passphrase', async () => {
    expect(await typeOf(keygen('plain', '-t', 'ed25519', '-N', ''))).toBe('ssh-ed25519')
    expect(await typeOf(keygen('locked', '-t', 'ecdsa', '-N', 'a phrase'))).toBe('ecdsa-sha2-nistp256')
  })

  it('is a hardware key’s when the file is only the handle of one', async () => {
    fs.writeFileSync(path.join(dir, 'sk'), skFile())
    expect(await typeOf(path.join(dir, 'sk'))).toBe('sk-ssh-ed25519@openssh.com')
  })

  it('is read from the public half beside an older format, and from a public key alone', async () => {
    const pem = keygen('pem', '-t', 'rsa', '-b', '2048', '-N', '', '-m', 'PEM')
    expect(await typeOf(pem)).toBe('ssh-rsa')
    expect(await typeOf(`${pem}.pub`)).toBe('ssh-rsa')
    fs.rmSync(`${pem}.pub`)
    expect(await typeOf(pem)).toBeUndefined()
  })

  it('is nothing for a file that is not there, and no guess for rubbish', async () => {
    expect(await publicKeyOf(path.join(dir, 'none'))).toBeUndefined()
    fs.writeFileSync(path.join(dir, 'rubbish'), 'not a key')
    expect(await publicKeyOf(path.join(dir, 'rubbish'))).toEqual(Buffer.alloc(0))
    for (const cut of [20, 40, 60])
      expect(publicKeyIn(skFile().replace(/\n[\s\S]*\n---/, (body) => `${body.slice(0, cut)}\n---`))).toBeUndefined()
  })
})

describe('the keys an SSH agent holds', () => {
  const answerOf = (blobs: Buffer[]) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(blobs.length)
    return sized(
      Buffer.concat([Buffer.from([12]), count, ...blobs.flatMap((blob) => [sized(blob), sized('a comment')])]),
    )
  }

  it('are told with certificates and hardware keys', async () => {
    const cert = Buffer.concat([sized('ssh-ed25519-cert-v01@openssh.com'), sized(randomBytes(32))])
    const socketPath = path.join(os.tmpdir(), `eitri-agent-${randomBytes(4).toString('hex')}.sock`)
    const server = net
      .createServer((socket) => socket.once('data', () => socket.end(answerOf([SK, cert]))))
      .listen(socketPath)
    expect(await agentKeyBlobs(socketPath)).toEqual([SK, cert])
    await new Promise((resolve) => server.close(resolve))
  })

  it('are none without an agent, and those before the break of a broken answer', async () => {
    expect(await agentKeyBlobs('')).toEqual([])
    expect(await agentKeyBlobs('/nowhere/agent.sock')).toEqual([])
    expect(identitiesIn(answerOf([SK, SK]).subarray(0, -8))).toEqual([SK])
    expect(identitiesIn(Buffer.from([0, 0, 0, 1, 5]))).toEqual([])
    const lies = answerOf([SK])
    lies.writeUInt32BE(0xffff_ffff, 5)
    expect(identitiesIn(lies)).toEqual([SK])
  })
})
