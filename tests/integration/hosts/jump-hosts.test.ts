import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { faultLine } from '../../../src/ipc/fault-text.ts'
import type { Fault } from '../../../src/ipc/faults.ts'
import { signInTo } from '../../../src/main/control/hosts/dial-host.ts'
import { LINK_DEAD_MS } from '../../../src/main/control/hosts/liveness.ts'
import { acceptOffered } from '../../../src/main/control/hosts/offered-keys.ts'
import { runCommand } from '../../../src/main/control/hosts/ssh/exec.ts'
import type { HostRow } from '../../../src/main/control/store/host-row.ts'
import { loginsOf } from '../../support/logins.ts'
import { type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { forever, systemClock } from '../../support/ssh-login.ts'
import { aHost } from '../../support/store-rows.ts'
import { aDesk, type Desk, trusting } from '../../support/ways-rig.ts'

const impossible = privateSshdImpossible()

describe('hosts behind a jump host', () => {
  let [bastion, one, two]: PrivateSshd[] = []
  let desk: Desk
  let before: number[]
  beforeAll(async () => {
    if (impossible !== undefined) return
    bastion = await startPrivateSshd()
    one = await startPrivateSshd()
    two = await startPrivateSshd()
  })
  afterAll(async () => {
    for (const sshd of [bastion, one, two]) await sshd?.close()
  })
  beforeEach((test) => {
    test.skip(impossible !== undefined, impossible)
    desk = aDesk()
    before = logins()
    configure()
  })
  afterEach(() => desk?.close())

  const logins = () => [bastion!, one!, two!].map(loginsOf)
  const since = () => logins().map((count, n) => count - before[n]!)
  const entry = (name: string, { port, keyFile, user }: Pick<PrivateSshd, 'port' | 'keyFile' | 'user'>, line = '') =>
    [`Host ${name}`, 'HostName 127.0.0.1', `Port ${port}`, `User ${user}`, `IdentityFile ${keyFile}`, line, ''].join(
      '\n  ',
    )
  const configure = (hop: Pick<PrivateSshd, 'port' | 'keyFile' | 'user'> = bastion!) =>
    desk.write(
      'config',
      [
        '\n',
        entry('bastion', hop),
        entry('one', one!, 'ProxyJump bastion'),
        entry('two', two!, 'ProxyJump bastion'),
      ].join('\n'),
    )
  const enter = (host: string, answer = trusting) => desk.enter({ host }, answer)
  const refused = (host: string, answer = trusting) =>
    enter(host, answer).then(
      () => expect.fail('it was let in'),
      (fault: Fault) => fault,
    )
  /** The row of a host that was entered, its keys filed. */
  const kept = ({ ssh, hostKeys }: Awaited<ReturnType<typeof enter>>, name: string): HostRow => {
    const identity = Buffer.from(name.padEnd(32)).toString('base64')
    const row = aHost({ name, kind: 'ssh', ssh: { ...ssh, useSudo: false } })
    for (const { host, port, key } of hostKeys) {
      const { how: _, ...rest } = key
      desk.fleet.stores.hostKeys.accept({ host, port, ...rest, firstSeen: new Date(0), how: 'accepted' })
    }
    return desk.fleet.stores.hosts.create({
      ...row,
      tenant: 'default',
      agent: { ...row.agent, identityPublicKey: identity },
    })
  }

  it('share one sign-in to it, which ends with the last of them', async () => {
    const [first, second] = [await enter('one'), await enter('two')]
    expect(second.asked).toMatchObject([{ host: 'two' }])
    expect(second.hostKeys.map(({ port }) => port)).toEqual([bastion!.port, two!.port])
    expect(since()).toEqual([1, 1, 1])
    first.connection.close()
    await first.connection.closed
    const options = { host: 'two', signal: forever, timeoutMs: 10_000 }
    expect(await runCommand(second.connection, 'echo still here', options)).toMatchObject({ stdout: 'still here\n' })
    second.connection.close()
    await expect.poll(() => bastion!.sessions(), { timeout: 5_000 }).toEqual([])
  })

  it('share it when they are dialled at the same time', async () => {
    const rows: HostRow[] = []
    for (const name of ['one', 'two']) {
      const entered = await enter(name)
      entered.connection.close()
      await entered.connection.closed
      rows.push(kept(entered, name))
    }
    before = logins()
    const connections = await Promise.all(rows.map((row) => signInTo(desk.fleet.ssh, row, forever)))
    expect(since()).toEqual([1, 1, 1])
    for (const connection of connections) connection.close()
    await expect.poll(() => bastion!.sessions(), { timeout: 5_000 }).toEqual([])
  })

  it('are all lost with it, and dialled anew through a new one', async () => {
    const [first, second] = [await enter('one'), await enter('two')]
    const row = kept(first, 'one')
    for (const pid of bastion!.sessions()) process.kill(pid, 'SIGKILL')
    for (const { connection } of [first, second]) expect(await connection.closed).toMatchObject({ code: 'ssh/lost' })
    const again = await signInTo(desk.fleet.ssh, row, forever)
    again.close()
  })

  it(
    'are lost when it falls silent, although each of them would wait',
    async () => {
      const { connection } = await enter('one')
      for (const pid of bastion!.sessions()) process.kill(pid, 'SIGSTOP')
      const started = performance.now()
      expect(await connection.closed).toMatchObject({ code: 'ssh/lost' })
      expect(performance.now() - started).toBeLessThan(LINK_DEAD_MS + 5_000)
      for (const pid of bastion!.sessions()) process.kill(pid, 'SIGKILL')
    },
    LINK_DEAD_MS + 20_000,
  )

  it.each<[string, () => Promise<Fault>, string, RegExp]>([
    [
      'where nobody listens',
      () => {
        configure({ ...bastion!, port: 1 })
        return refused('one')
      },
      'host/unreachable',
      /^No answer from bastion \(on the way to one\), 127\.0\.0\.1:1 \(connection refused\)\./,
    ],
    [
      'that refuses the sign-in',
      () => {
        configure({ ...bastion!, keyFile: one!.keyFile })
        return refused('one')
      },
      'ssh/auth-refused',
      /root@127\.0\.0\.1:\d+ refused the sign-in/,
    ],
    [
      'whose key nobody accepts',
      () => refused('one', () => ({})),
      'ssh/host-key-unknown',
      /bastion \(on the way to one\) has a host key nobody here has accepted/,
    ],
    [
      'that cannot reach the host',
      () => {
        const file = path.join(desk.sshDir, 'config')
        fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(`Port ${one!.port}`, 'Port 1'))
        return refused('one')
      },
      'host/unreachable',
      /one.*127\.0\.0\.1:1.*127\.0\.0\.1 on the way says: .*Connection refused/,
    ],
  ])('say of one %s which it was', async (_, fails, code, says) => {
    const fault = await fails()
    expect(fault.code).toBe(code)
    expect(`${faultLine(fault.code, fault.params)} ${Object.values(fault.params).join(' ')}`).toMatch(says)
    await expect.poll(() => bastion!.sessions(), { timeout: 5_000 }).toEqual([])
  })

  it('say of one that forbids forwarding that it does', async () => {
    await using closed = await startPrivateSshd(['AllowTcpForwarding no'])
    configure(closed)
    const fault = await refused('one')
    expect(fault).toMatchObject({ code: 'host/unreachable', params: { host: 'one' } })
    expect(fault.params['detail']).toBe('127.0.0.1 on the way forbids forwarding (AllowTcpForwarding)')
  })

  it('are carried by the system’s ssh when it takes only what that has', async () => {
    await using modern = await startPrivateSshd(['KexAlgorithms sntrup761x25519-sha512@openssh.com'])
    configure(modern)
    const { connection, asked, hostKeys, ssh } = await enter('one')
    expect(connection.client).toBe('openssh')
    expect(asked.map((question) => question.kind === 'host_key' && question.host)).toEqual([
      'bastion (on the way to one)',
      'one',
    ])
    expect(hostKeys.map(({ port }) => port)).toEqual([modern.port, one!.port])
    expect(ssh).toMatchObject({ client: 'openssh', typed: { host: 'one' } })
    connection.close()
    await connection.closed
    await expect.poll(() => modern.sessions(), { timeout: 5_000 }).toEqual([])
  })

  it('wait for a person when its key has changed, and go on when that key is accepted, their own untouched', async () => {
    await using rebuilt = await startPrivateSshd()
    configure(rebuilt)
    const entered = await enter('one')
    entered.connection.close()
    await entered.connection.closed
    const row = kept(entered, 'one')
    await rebuilt.replaceHostKey()
    const { fingerprint } = rebuilt.hostKey
    await expect(signInTo(desk.fleet.ssh, row, forever)).rejects.toMatchObject({
      code: 'ssh/host-key-changed',
      params: { host: 'bastion (on the way to one)', fingerprint },
    })
    const { hosts, hostKeys, db } = desk.fleet.stores
    const transaction = <T>(work: () => T): T => db.transaction(work)
    const links = { tryNow: () => {} }
    acceptOffered(
      { hosts, hostKeys, links, offered: desk.fleet.ssh.offered, transaction, clock: systemClock },
      row.id,
      fingerprint,
    )
    expect(hosts.get(row.id).hostKeyFingerprint).toBe(row.hostKeyFingerprint)
    const again = await signInTo(desk.fleet.ssh, row, forever)
    again.close()
  })
})
