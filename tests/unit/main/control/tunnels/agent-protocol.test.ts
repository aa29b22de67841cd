import { generateKeyPairSync, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blobOf } from '../../../../../src/main/control/trust/openssh/public-key.ts'
import { sshVerify } from '../../../../../src/main/control/trust/openssh/signature.ts'
import { str, u8, u32, WireReader } from '../../../../../src/main/control/trust/openssh/wire.ts'
import { agentMessages, answerAgent } from '../../../../../src/main/control/tunnels/agent-protocol.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const certificate = Buffer.concat([str('ssh-ed25519-cert-v01@openssh.com'), randomBytes(100)])
const identity = { key: privateKey, certificate, login: 'root' }
const FAILED = u8(5)

interface Login {
  user?: string
  service?: string
  method?: string
  type?: number
  withSignature?: number
  key?: Buffer
}

const login = ({ user = 'root', service = 'ssh-connection', method = 'publickey', ...rest }: Login = {}): Buffer => {
  const { type = 50, withSignature = 1, key = certificate } = rest
  const words = [
    str(user),
    str(service),
    str(method),
    u8(withSignature),
    str('ssh-ed25519-cert-v01@openssh.com'),
    str(key),
  ]
  return Buffer.concat([str(randomBytes(32)), u8(type), ...words])
}
const signRequest = (data: Buffer, key = certificate): Buffer => Buffer.concat([u8(13), str(key), str(data), u32(0)])
const bind = (forwarded: number): Buffer =>
  Buffer.concat([u8(27), str('session-bind@openssh.com'), str('key'), str('session'), str('signature'), u8(forwarded)])

describe('the agent of a login', () => {
  it('lists one certificate, and signs a login by it under its own name', () => {
    const state = { forwarded: false }
    expect(answerAgent(bind(0), identity, state)).toEqual(u8(6))
    const listed = new WireReader(answerAgent(u8(11), identity, state))
    expect([listed.u8(), listed.u32(), listed.string(), listed.string().toString()]).toEqual([
      ...[12, 1, certificate, 'root by certificate'],
    ])
    for (const method of ['publickey', 'publickey-hostbound-v00@openssh.com']) {
      const data = login({ method })
      const answer = new WireReader(answerAgent(signRequest(data), identity, state))
      expect(answer.u8()).toBe(14)
      expect(sshVerify(blobOf(publicKey), data, answer.string())).toBe(true)
    }
  })

  it.each([
    ['of somebody else', signRequest(login({ user: 'dana' }))],
    ['of another service', signRequest(login({ service: 'ssh-userauth' }))],
    ['from another host', signRequest(login({ method: 'hostbased' }))],
    ['without a signature', signRequest(login({ withSignature: 0 }))],
    ['by another key', signRequest(login({ key: Buffer.from('other') }))],
    ['asked for another key', signRequest(login(), Buffer.from('other'))],
    ['that is another message', signRequest(login({ type: 80 }))],
    ['that is a file', signRequest(Buffer.concat([Buffer.from('SSHSIG'), str('git'), str('')]))],
    ['cut short', signRequest(login()).subarray(0, 60)],
  ])('signs nothing %s', (_, request) => {
    expect(answerAgent(request, identity, { forwarded: false })).toEqual(FAILED)
  })

  it('has nothing for the other side it is lent to, nor without a certificate', () => {
    const state = { forwarded: false }
    answerAgent(bind(1), identity, state)
    expect(answerAgent(u8(11), identity, state)).toEqual(Buffer.concat([u8(12), u32(0)]))
    expect(answerAgent(signRequest(login()), identity, state)).toEqual(FAILED)
    answerAgent(bind(0), identity, state)
    expect(answerAgent(signRequest(login()), identity, state)).toEqual(FAILED)
    expect(answerAgent(u8(11), undefined, { forwarded: false })).toEqual(Buffer.concat([u8(12), u32(0)]))
  })

  it('takes no keys, forgets none, and knows no other extension', () => {
    for (const type of [17, 18, 19, 20, 22, 23, 25])
      expect(answerAgent(u8(type), identity, { forwarded: false })).toEqual(FAILED)
    const other = Buffer.concat([u8(27), str('query')])
    expect(answerAgent(other, identity, { forwarded: false })).toEqual(FAILED)
  })

  it('answers whatever bytes it is sent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const answer = answerAgent(Buffer.from(bytes), identity, { forwarded: false })
        return answer.length > 0 && answer[0] !== 14
      }),
    )
  })
})

describe('messages of an agent’s client', () => {
  it('are the same however their bytes come', () => {
    const stream = Buffer.concat([str('one'), str('two'), str('three')])
    fc.assert(
      fc.property(fc.nat(stream.length), (at) => {
        const first = agentMessages(stream.subarray(0, at))!
        const second = agentMessages(Buffer.concat([first.rest, stream.subarray(at)]))!
        return (
          [...first.messages, ...second.messages].map(String).join() === 'one,two,three' && second.rest.length === 0
        )
      }),
    )
  })

  it.each([0, 64 * 1024 + 1, 0xffff_ffff])('of %i bytes end the connection', (length) => {
    expect(agentMessages(u32(length))).toBeUndefined()
  })
})
