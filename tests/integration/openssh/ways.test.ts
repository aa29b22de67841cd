import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cancelled } from '../../support/adding-hosts.ts'
import { loginsOf } from '../../support/logins.ts'
import { type PrivateSshd, startPrivateSshd } from '../../support/private-sshd.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../../support/ssh-host.ts'
import { forever } from '../../support/ssh-login.ts'
import { aDesk, type Desk } from '../../support/ways-rig.ts'

const impossible = sshHostImpossible()

describe('a host as people have it, added and dialled again', () => {
  let host: SshHost
  let [outer, inner]: PrivateSshd[] = []
  let desk: Desk
  let before: number
  let changed = false
  beforeAll(async () => {
    if (impossible !== undefined) return
    host = await startSshHost({ name: 'rack1' })
    outer = await startPrivateSshd()
    inner = await startPrivateSshd()
  })
  afterAll(async () => {
    await host?.close()
    await outer?.close()
    await inner?.close()
  })
  beforeEach((test) => {
    test.skip(impossible !== undefined, impossible)
    desk = aDesk()
    before = loginsOf(host)
  })
  afterEach(async () => {
    desk?.close()
    // What a test changed of the server ends with it.
    if (changed) await host.restartSshd([])
    changed = false
  })

  const withSshd = (lines: string[]) => {
    changed = true
    return host.restartSshd(lines)
  }
  const logins = () => loginsOf(host) - before
  const entry = (name: string, lines: string[]) => `Host ${name}\n${lines.map((line) => `  ${line}\n`).join('')}`
  const target = (...lines: string[]) =>
    entry('rack1', [`HostName ${host.address}`, 'User dev', `IdentityFile ${host.clientKeyPath}`, ...lines])
  const bastion = (name: string, { port, user, keyFile }: PrivateSshd, ...lines: string[]) =>
    entry(name, ['HostName 127.0.0.1', `Port ${port}`, `User ${user}`, `IdentityFile ${keyFile}`, ...lines])
  const keyOf = (file: string) => fs.readFileSync(`${file}.pub`, 'utf8').trim().split(' ').slice(0, 2).join(' ')
  const keygen = (name: string, ...options: string[]) => {
    const file = path.join(desk.sshDir, name)
    execFileSync('ssh-keygen', ['-q', '-N', '', '-C', '', '-t', 'ed25519', '-f', file, ...options])
    return file
  }

  it('is reached through two jump hosts, each judged and signed in to once, and none stays open behind it', async () => {
    desk.write('config', target('ProxyJump outer,inner') + bastion('outer', outer!) + bastion('inner', inner!))
    const added = await desk.add({ host: 'rack1' })
    expect(added.link).toMatchObject({ sshClient: 'ssh2', carrier: 'streamlocal' })
    expect(added.asked.map((asked) => asked.kind === 'host_key' && asked.host)).toEqual([
      'outer (on the way to rack1)',
      'inner (on the way to rack1)',
      'rack1',
    ])
    expect(added.row.ssh).toMatchObject({ hops: [{ hostname: 'outer' }, { hostname: 'inner' }] })
    expect(added.row.hostKeyFingerprint).toBe(host.hostKeyFingerprint)
    expect([loginsOf(outer!), loginsOf(inner!), logins()]).toEqual([1, 1, 1])
    added.link.close(cancelled)
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
    await expect.poll(() => [outer!, inner!].flatMap((sshd) => sshd.sessions()), { timeout: 5_000 }).toEqual([])
  }, 60_000)

  it('is reached through a jump host given with the host, and by the names of the hosts alone', async () => {
    desk.write('id_ed25519', fs.readFileSync(outer!.keyFile, 'utf8'))
    const jump = `${outer!.user}@127.0.0.1:${outer!.port}`
    const added = await desk.add({ host: host.address, user: 'dev', identityFile: host.clientKeyPath, jump })
    expect(added.row.ssh?.hops).toMatchObject([{ hostname: '127.0.0.1', port: outer!.port }])
    added.link.close(cancelled)
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
  }, 60_000)

  it('is reached by a ProxyCommand, by the system’s own ssh, with one sign-in for everything', async () => {
    const through = `ssh -F none -i ${outer!.keyFile} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null`
    desk.write('config', target(`ProxyCommand ${through} -o LogLevel=ERROR -p ${outer!.port} -W %h:%p root@127.0.0.1`))
    const added = await desk.add({ host: 'rack1' })
    expect(added.link).toMatchObject({ sshClient: 'openssh', carrier: 'streamlocal' })
    expect(added.asked).toMatchObject([{ kind: 'host_key', host: 'rack1', fingerprint: host.hostKeyFingerprint }])
    expect(added.row.ssh).toMatchObject({ client: 'openssh', clientDetail: expect.stringContaining('a ProxyCommand') })
    const bulk = await added.link.bulk(forever)
    expect((await bulk.client.getStatus({})).facts?.hostname).toBe('rack1')
    bulk.close(cancelled)
    expect(logins()).toBe(1)
    added.link.close(cancelled)
    await expect.poll(() => desk.folders(), { timeout: 5_000 }).toEqual([])
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
    expect(logins()).toBe(2)
  }, 60_000)

  it('lets a person in by a certificate alone', async () => {
    const ca = keygen('ca')
    const key = keygen('me')
    execFileSync('ssh-keygen', ['-q', '-s', ca, '-I', 'me', '-n', 'dev', '-V', '-1m:+1h', `${key}.pub`])
    await host.must(['sh', '-c', 'cat >/etc/ssh/user_ca.pub'], { input: keyOf(ca) })
    await withSshd(['TrustedUserCAKeys /etc/ssh/user_ca.pub', 'AuthorizedKeysFile none'])
    desk.write('config', entry('rack1', [`HostName ${host.address}`, 'User dev', `IdentityFile ${key}`]))
    const added = await desk.add({ host: 'rack1' })
    expect(added.link.sshClient).toBe('openssh')
    expect(added.row.ssh?.clientDetail).toContain('a certificate (me-cert.pub)')
    added.link.close(cancelled)
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
    fs.rmSync(`${key}-cert.pub`)
    await expect(desk.again(added.row)).rejects.toMatchObject({ code: 'ssh/auth-refused', params: { host: 'rack1' } })
  }, 60_000)

  it('is known by the authority that certified its key, whatever that key is', async () => {
    const ca = keygen('host_ca')
    const certify = async () => {
      const key = keygen(`host_key_${fs.readdirSync(desk.sshDir).length}`)
      execFileSync('ssh-keygen', ['-q', '-s', ca, '-I', 'rack1', '-h', '-n', host.address, `${key}.pub`])
      for (const [from, to] of [
        [key, 'ck'],
        [`${key}-cert.pub`, 'ck-cert.pub'],
      ] as const)
        await host.must(['sh', '-c', `umask 077; cat >/etc/ssh/${to}`], { input: fs.readFileSync(from, 'utf8') })
      await withSshd(['HostKey /etc/ssh/ck', 'HostCertificate /etc/ssh/ck-cert.pub'])
    }
    await certify()
    desk.write('known_hosts', `@cert-authority 10.77.* ${keyOf(ca)}\n`)
    desk.write('config', target())
    const added = await desk.add({ host: 'rack1' })
    expect(added.asked).toEqual([])
    expect(added.row.ssh?.clientDetail).toContain('@cert-authority')
    expect(desk.fleet.stores.hostKeys.list(host.address, 22)).toEqual([])
    added.link.close(cancelled)
    await certify()
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
    desk.write('known_hosts', '')
    await expect(desk.again(added.row)).rejects.toMatchObject({ code: 'ssh/host-key-unknown' })
  }, 60_000)

  it('is reached although its server takes only a key exchange that ssh2 does not have', async () => {
    await withSshd(['KexAlgorithms sntrup761x25519-sha512@openssh.com'])
    desk.write('config', target())
    const added = await desk.add({ host: 'rack1' })
    expect(added.link.sshClient).toBe('openssh')
    expect(added.row.ssh?.clientDetail).toMatch(/^Its server takes none of what ssh2 has: .*key exchange/)
    added.link.close(cancelled)
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
  }, 60_000)

  it('goes over to the system’s ssh by itself when its server takes no other key exchange any more', async () => {
    desk.write('config', target())
    const added = await desk.add({ host: 'rack1' })
    expect(added.link.sshClient).toBe('ssh2')
    added.link.close(cancelled)
    await withSshd(['KexAlgorithms sntrup761x25519-sha512@openssh.com'])
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
    const { ssh } = desk.fleet.stores.hosts.get(added.row.id)
    expect(ssh).toMatchObject({ client: 'openssh', typed: { host: 'rack1', user: 'dev' } })
  }, 60_000)

  it('is reached by an IPv6 address on another port, by either client', async () => {
    await withSshd(['Port 2222'])
    const loopback = { host: '[::1]:2222', user: 'dev', identityFile: host.clientKeyPath }
    desk.write('id_ed25519', fs.readFileSync(host.clientKeyPath, 'utf8'))
    const added = await desk.add({ ...loopback, jump: `dev@${host.address}:2222` })
    expect(added.row.ssh).toMatchObject({ host: '::1', port: 2222 })
    expect(desk.fleet.stores.hostKeys.list('::1', 2222)).toHaveLength(1)
    added.link.close(cancelled)
    expect((await desk.again(added.row)).facts?.hostname).toBe('rack1')
    const ssh = {
      ...added.row.ssh!,
      client: 'openssh' as const,
      typed: { host: '::1', port: 2222, user: 'dev', jump: `dev@${host.address}:2222` },
    }
    expect((await desk.again({ ...added.row, ssh })).facts?.hostname).toBe('rack1')
  }, 60_000)
})
