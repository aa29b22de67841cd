import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Fault } from '../../../src/ipc/faults.ts'
import { acceptHostKey } from '../../../src/main/control/hosts/accept-host-key.ts'
import { connectPinned, signInAsking } from '../../../src/main/control/hosts/sign-in.ts'
import type { SignIn } from '../../../src/main/control/hosts/ssh/auth-walk.ts'
import { KeyRing } from '../../../src/main/control/hosts/ssh/credentials.ts'
import { dial } from '../../../src/main/control/hosts/ssh/dial.ts'
import type { HostKeyRow } from '../../../src/main/control/store/host-keys-store.ts'
import type { Answer, Question } from '../../../src/main/control/tasks/task-context.ts'
import { type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { forever, signIn, targetOf } from '../../support/ssh-login.ts'

const field = (bytes: Buffer | string) => {
  const body = Buffer.from(bytes)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}
const aKey = () => Buffer.concat([field('ssh-ed25519'), field(randomBytes(32))])

const impossible = privateSshdImpossible()

describe('trust in a host over a real sshd', () => {
  let sshd: PrivateSshd
  let knownHosts: string
  let own: HostKeyRow[]
  let asked: Question[]
  beforeAll(async () => {
    if (impossible !== undefined) return
    sshd = await startPrivateSshd()
    knownHosts = path.join(sshd.dir, 'known_hosts')
  })
  afterAll(() => sshd?.close())
  beforeEach((test) => {
    test.skip(impossible !== undefined, impossible)
    own = []
    asked = []
    fs.rmSync(knownHosts, { recursive: true, force: true })
  })

  const target = () => targetOf(sshd, { knownHostsFiles: [knownHosts] })
  const known = (blob: Buffer, marker = '') =>
    fs.writeFileSync(knownHosts, `${marker}[127.0.0.1]:${sshd.port} ssh-ed25519 ${blob.toString('base64')}\n`)
  const taskThat = (answer: (question: Question) => Answer) => ({
    signal: forever,
    ask: async (question: Question) => {
      asked.push(question)
      return answer(question)
    },
  })
  const accept = async (answer: (question: Question) => Answer = () => ({}), given = '') =>
    acceptHostKey(
      target(),
      { list: () => own, accept: () => {} },
      taskThat(answer),
      { detail: () => {} },
      {
        socket: await dial(target(), forever),
        accept: given,
      },
    )

  it('asks for a new key with its fingerprint, and takes the same fingerprint for a yes', async () => {
    const { fingerprint } = sshd.hostKey
    expect(await accept(() => ({ fingerprint }))).toMatchObject({ fingerprint, how: 'accepted' })
    expect(asked).toEqual([{ kind: 'host_key', host: 'lab', keyType: 'ssh-ed25519', fingerprint }])
  })

  it('refuses a new key that nobody accepts, or that is answered with another fingerprint', async () => {
    await expect(accept()).rejects.toMatchObject({ code: 'ssh/host-key-unknown' })
    await expect(accept(() => ({ agree: true, fingerprint: 'SHA256:x' }))).rejects.toMatchObject({
      code: 'ssh/host-key-unknown',
    })
  })

  it('asks nothing about a key known_hosts holds', async () => {
    known(sshd.hostKey.blob)
    expect(await accept()).toMatchObject({ how: 'known-hosts' })
    expect(asked).toEqual([])
  })

  it('refuses a changed key with a question of its own that shows both', async () => {
    known(aKey())
    await expect(accept()).rejects.toMatchObject({ code: 'ssh/host-key-changed' })
    expect(asked).toMatchObject([{ kind: 'host_key', known: { fingerprint: expect.stringMatching(/^SHA256:/) } }])
    const { fingerprint } = sshd.hostKey
    expect(await accept(() => ({ fingerprint }))).toMatchObject({ how: 'accepted' })
  })

  it('believes what was accepted here before known_hosts, and says since when', async () => {
    const { type, blob, fingerprint } = sshd.hostKey
    const row = {
      host: '127.0.0.1',
      port: sshd.port,
      type,
      blob,
      fingerprint,
      firstSeen: new Date(7),
      how: 'accepted' as const,
    }
    known(aKey())
    own = [row]
    expect(await accept()).toMatchObject({ how: 'known-hosts' })
    known(blob)
    own = [{ ...row, blob: aKey() }]
    await expect(accept()).rejects.toMatchObject({ code: 'ssh/host-key-changed' })
    expect(asked).toMatchObject([{ known: { since: new Date(7) } }])
  })

  it('never connects to a revoked key, accepted or not', async () => {
    known(sshd.hostKey.blob, '@revoked ')
    await expect(accept(() => ({ fingerprint: sshd.hostKey.fingerprint }))).rejects.toMatchObject({
      code: 'ssh/host-key-revoked',
    })
    expect(asked).toEqual([])
  })

  it('fails closed when known_hosts cannot be read', async () => {
    fs.mkdirSync(knownHosts)
    await expect(accept(() => ({ fingerprint: sshd.hostKey.fingerprint }))).rejects.toMatchObject({
      code: 'ssh/config-invalid',
      params: { detail: expect.stringContaining(knownHosts) },
    })
  })

  it('takes a fingerprint given beforehand, and no other key', async () => {
    expect(await accept(undefined, sshd.hostKey.fingerprint)).toMatchObject({ how: 'accepted' })
    await expect(accept(undefined, `SHA256:${'A'.repeat(43)}`)).rejects.toMatchObject({ code: 'ssh/host-key-changed' })
    expect(asked).toEqual([])
  })

  it('signs in only to the key that was accepted', async () => {
    const hostKey = { ...sshd.hostKey, blob: aKey(), fingerprint: 'SHA256:other' }
    const connect = (walk: SignIn) => connectPinned({ target: target(), hostKey, signal: forever }, walk)
    const request = { target: target(), connect, secrets: {}, ring: new KeyRing(), task: taskThat(() => ({})) }
    await expect(signInAsking(request)).rejects.toMatchObject({ code: 'ssh/host-key-changed' })
    expect(asked).toEqual([])
  })

  it('asks again for a password that was refused, three times, and never repeats it', async () => {
    const task = taskThat(() => ({ secret: 'hidden-word' }))
    const noKey = { ...target(), identityFiles: [] }
    const request = {
      target: noKey,
      connect: (walk: SignIn) => connectPinned({ target: noKey, hostKey: sshd.hostKey, signal: forever }, walk),
      secrets: { password: 'hidden-word' },
      ring: new KeyRing(),
      task,
    }
    const fault = await signInAsking(request).catch((error: Fault) => error)
    expect(fault).toMatchObject({ code: 'ssh/auth-refused', params: { methods: expect.stringContaining('password') } })
    expect(asked).toHaveLength(3)
    expect(asked[0]).toMatchObject({
      kind: 'secret',
      what: 'password',
      problem: 'The host did not take that password.',
    })
    const { message, params, stack } = fault as Fault
    expect(JSON.stringify([message, params, stack, asked])).not.toContain('hidden-word')
  }, 60_000)

  it('names an address nobody listens on', async () => {
    const closed = await new Promise<number>((resolve) => {
      const server = net.createServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address() as net.AddressInfo
        server.close(() => resolve(port))
      })
    })
    await expect(signIn(targetOf({ port: closed, user: 'x' }))).rejects.toMatchObject({
      code: 'host/unreachable',
      params: { address: `127.0.0.1:${closed}`, detail: 'connection refused' },
    })
  })

  it('calls a server that is no sshd by its name', async () => {
    const server = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as net.AddressInfo
    const refused = await signIn(targetOf({ port, user: 'x' })).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Fault)
    expect(refused).toMatchObject({ code: 'ssh/protocol' })
    server.close()
  })
})
