import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { faultLine } from '../../../src/ipc/fault-text.ts'
import type { Fault } from '../../../src/ipc/faults.ts'
import { loginsOf } from '../../support/logins.ts'
import { type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { aDesk, type Desk, trusting } from '../../support/ways-rig.ts'

const impossible = privateSshdImpossible()
/** A setup that asks for the system's ssh, and adds nothing. */
const SYSTEM = 'KnownHostsCommand /bin/true'

describe.each([
  ['ssh2', ''],
  ['the system’s ssh', SYSTEM],
])('the key of a host, by %s', (client, line) => {
  let sshd: PrivateSshd
  let desk: Desk
  let before: number
  beforeAll(async () => {
    if (impossible === undefined) sshd = await startPrivateSshd()
  })
  afterAll(() => sshd?.close())
  beforeEach((test) => {
    test.skip(impossible !== undefined, impossible)
    desk = aDesk()
    before = loginsOf(sshd)
    configure()
  })
  afterEach(() => desk?.close())

  const configure = (...lines: string[]) => {
    const { port, user, keyFile } = sshd
    const own = ['HostName 127.0.0.1', `Port ${port}`, `User ${user}`, `IdentityFile ${keyFile}`, line, ...lines]
    desk.write('config', `Host lab\n${own.map((text) => `  ${text}\n`).join('')}`)
  }
  const known = (hosts: string, { blob }: { blob: Buffer } = sshd.hostKey, marker = '') =>
    `${marker}${hosts} ssh-ed25519 ${blob.toString('base64')}\n`
  const named = () => `[127.0.0.1]:${sshd.port}`
  const enter = async (answer = trusting) => {
    const entrance = await desk.enter({ host: 'lab' }, answer)
    entrance.connection.close()
    await entrance.connection.closed
    expect(entrance.connection.client).toBe(client === 'ssh2' ? 'ssh2' : 'openssh')
    return entrance
  }
  const refused = (answer = trusting) =>
    enter(answer).then(
      () => expect.fail('it was let in'),
      (fault: Fault) => fault,
    )
  const anotherKey = (name = 'another') => {
    const file = path.join(desk.sshDir, name)
    execFileSync('ssh-keygen', ['-q', '-N', '', '-t', 'ed25519', '-f', file])
    return { blob: Buffer.from(fs.readFileSync(`${file}.pub`, 'utf8').split(' ')[1] ?? '', 'base64') }
  }

  it('is asked for with its fingerprint when nobody knows it, and filed once somebody does', async () => {
    const { asked, hostKeys } = await enter()
    const { fingerprint, type } = sshd.hostKey
    expect(asked).toEqual([{ kind: 'host_key', host: 'lab', keyType: type, fingerprint }])
    expect(hostKeys).toMatchObject([{ host: '127.0.0.1', port: sshd.port, key: { fingerprint, how: 'accepted' } }])
    await expect.poll(() => desk.folders()).toEqual([])
    expect(fs.existsSync(path.join(desk.sshDir, 'known_hosts'))).toBe(false)
  })

  it('is refused when nobody accepts it, and nothing is sent', async () => {
    const fault = await refused(() => ({}))
    expect(fault).toMatchObject({ code: 'ssh/host-key-unknown', params: { fingerprint: sshd.hostKey.fingerprint } })
    expect(faultLine(fault.code, fault.params)).toContain(sshd.hostKey.fingerprint)
    await expect.poll(() => loginsOf(sshd)).toBe(before)
  })

  it.each([
    ['a plain line', () => known(named())],
    ['a hashed line', () => hashed(known(named()))],
    ['a line without the port', () => known('127.0.0.1')],
  ])('is known by %s of known_hosts', async (_, text) => {
    desk.write('known_hosts', text())
    expect((await enter()).asked).toEqual([])
  })

  const hashed = (text: string) => {
    const file = desk.write('to-hash', text)
    execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'ignore' })
    return fs.readFileSync(file, 'utf8')
  }

  it('is known by its alias, which has no port', async () => {
    configure('HostKeyAlias the-lab')
    desk.write('known_hosts', known('the-lab'))
    expect((await enter()).ssh.hostKeyName).toBe('the-lab')
  })

  it('is never taken once it is revoked, accepted or not', async () => {
    desk.write('known_hosts', known(named()) + known('*', sshd.hostKey, '@revoked '))
    const fault = await refused()
    expect(fault).toMatchObject({ code: 'ssh/host-key-revoked' })
    expect(faultLine(fault.code, fault.params)).toBe(
      'The host key of lab is marked revoked. We did not sign in. Do not connect; find out who revoked it.',
    )
    await expect.poll(() => loginsOf(sshd)).toBe(before)
  })

  it('is asked for anew, with both, when known_hosts has another', async () => {
    desk.write('known_hosts', known(named(), anotherKey()))
    const fault = await refused(() => ({}))
    expect(fault).toMatchObject({ code: 'ssh/host-key-changed', params: { fingerprint: sshd.hostKey.fingerprint } })
    expect(faultLine(fault.code, fault.params)).toContain('answered with a different host key')
    await expect.poll(() => loginsOf(sshd)).toBe(before)
    const { asked } = await enter()
    expect(asked).toMatchObject([{ kind: 'host_key', known: { fingerprint: expect.stringMatching(/^SHA256:/) } }])
  })

  it('is what was accepted here before, whatever known_hosts says', async () => {
    const { hostKeys } = desk.fleet.stores
    const { type, blob, fingerprint } = sshd.hostKey
    const row = { host: '127.0.0.1', port: sshd.port, type, blob, fingerprint, firstSeen: new Date(7) }
    hostKeys.accept({ ...row, how: 'accepted' })
    desk.write('known_hosts', known(named(), anotherKey()))
    expect((await enter()).asked).toEqual([])
    hostKeys.accept({ ...row, ...anotherKey('third'), fingerprint: 'SHA256:other', how: 'accepted' })
    desk.write('known_hosts', known(named()))
    expect(await refused(() => ({}))).toMatchObject({ code: 'ssh/host-key-changed' })
  })

  it('given beforehand is the only one that is taken', async () => {
    const { connection } = await desk.enter({ host: 'lab', acceptHostKey: sshd.hostKey.fingerprint }, () => ({}))
    connection.close()
    const other = `SHA256:${'A'.repeat(43)}`
    await expect(desk.enter({ host: 'lab', acceptHostKey: other })).rejects.toMatchObject({
      code: 'ssh/host-key-changed',
      params: { known: other },
    })
  })
})
