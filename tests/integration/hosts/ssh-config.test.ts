import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listConfigHosts } from '../../../src/main/control/hosts/ssh/config-hosts.ts'
import type { runLocal } from '../../../src/main/control/hosts/ssh/config-reader.ts'
import { readWay, resolveWay } from '../../../src/main/control/hosts/ssh-way.ts'
import { forever } from '../../support/ssh-login.ts'

const hasSsh = (() => {
  try {
    execFileSync('ssh', ['-V'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!hasSsh)('the SSH configuration of a person, as ssh itself reads it', () => {
  let dir: string
  let env: Record<string, string | undefined>
  const write = (name: string, text: string) => {
    const file = path.join(dir, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text, { mode: 0o600 })
    return file
  }
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-conf-'))
    env = { PATH: process.env['PATH'] }
  })
  afterEach(() => fs.rmSync(dir, { recursive: true }))

  const target = async (host: string, more = {}) =>
    (await resolveWay({ sshDir: dir, env }, { host, ...more }, forever)).host.target
  const way = (host: string, more = {}) => {
    const said: string[] = []
    const step = { detail: (text: string) => void said.push(text) }
    return readWay({ sshDir: dir, env }, { host, ...more }, forever, step).then((read) => ({ ...read, said }))
  }

  it('is read whole: included files, blocks that match, and the first word counts', async () => {
    write('a', 'Host rack1\n  HostName 10.0.0.7\n  User first\n')
    write('config', `Include ${dir}/a\nHost rack*\n  Port 2200\n  User later\nMatch originalhost rack1\n  Port 2300\n`)
    expect(await target('rack1')).toMatchObject({ address: '10.0.0.7', port: 2200, user: 'first' })
  })

  it('makes a short name whole where it says so', async () => {
    write('config', 'Host short\n  HostName %h.lab.example\n')
    expect(await target('short')).toMatchObject({ address: 'short.lab.example', hostKeyName: 'short.lab.example' })
  })

  it('makes a name canonical by the name service where it says so', async () => {
    const own = 'CanonicalizeHostname yes\nCanonicalDomains invalid.example\nCanonicalizeFallbackLocal yes\n'
    write('config', `${own}Host localhost\n  Port 2222\n`)
    expect(await target('localhost')).toMatchObject({ address: 'localhost', port: 2222 })
  })

  it('offers the named keys only, and asks the agent it names for this host alone', async () => {
    const key = write('one', 'x')
    write('config', `Host rack1\n  IdentitiesOnly yes\n  IdentityFile ${key}\n  IdentityAgent ${dir}/agent.sock\n`)
    env['SSH_AUTH_SOCK'] = '/run/agent'
    expect(await target('rack1')).toMatchObject({
      identityFiles: [key],
      identitiesOnly: true,
      identityAgent: `${dir}/agent.sock`,
      identityAgentNamed: true,
    })
    expect(await target('rack2')).toMatchObject({ identityAgent: '/run/agent', identityAgentNamed: false })
  })

  it('is overruled by what was typed with the host', async () => {
    write('config', 'Host rack1\n  Port 2200\n  User later\n  ProxyJump bastion\n')
    const key = write('mine', 'x')
    const read = await way('ops@rack1:2222', { identityFile: key, jump: 'none' })
    expect(read.host.target).toMatchObject({ port: 2222, user: 'ops', identityFiles: [key], identitiesOnly: true })
    expect(read.hops).toEqual([])
    expect(read.typed).toEqual({ host: 'rack1', port: 2222, user: 'ops', identityFile: key, jump: 'none' })
  })

  it.each([
    ['[2001:db8::7]:2222', { address: '2001:db8::7', port: 2222 }],
    ['2001:db8::7', { address: '2001:db8::7', port: 22 }],
    ['ops@[::1]', { address: '::1', port: 22, user: 'ops' }],
  ])('leaves the address %s as it is', async (typed, read) =>
    expect((await way(typed)).host.target).toMatchObject(read),
  )

  it('leads through jump hosts with configurations of their own', async () => {
    write(
      'config',
      'Host rack1\n  ProxyJump inner\nHost inner\n  HostName 10.0.0.2\n  ProxyJump ops@outer:2200\nHost outer\n  HostName 10.0.0.1\n',
    )
    const { hops, choice, said } = await way('rack1')
    expect(hops.map(({ target: hop }) => [hop.host, hop.address, hop.port])).toEqual([
      ['outer', '10.0.0.1', 2200],
      ['inner', '10.0.0.2', 22],
    ])
    expect(choice).toEqual({ client: 'ssh2' })
    expect(said.at(-1)).toContain('through outer, inner')
  })

  it('asks for the system’s ssh by what lies beside a key, too', async () => {
    const file = path.join(dir, 'me')
    for (const name of ['ca', 'me'])
      execFileSync('ssh-keygen', ['-q', '-N', '', '-t', 'ed25519', '-f', path.join(dir, name)])
    write(
      'config',
      `Host rack1\n  IdentityFile ${file}\nHost bastion\n  ProxyCommand nc %h %p\nHost rack2\n  ProxyJump bastion\n`,
    )
    expect((await way('rack1')).choice).toEqual({ client: 'ssh2' })
    execFileSync('ssh-keygen', ['-q', '-s', path.join(dir, 'ca'), '-I', 'me', '-n', 'ops', `${file}.pub`])
    expect((await way('rack1')).choice).toMatchObject({
      client: 'openssh',
      detail: expect.stringContaining('me-cert.pub'),
    })
    expect((await way('rack2')).choice).toMatchObject({
      detail: expect.stringMatching(/for bastion on the way uses a ProxyCommand/),
    })
  })

  it('is not run by listing its hosts, and once by picking one', async () => {
    const ran = path.join(dir, 'ran')
    write('config', `Host rack1\nMatch originalhost rack1 exec "printf x >>${ran}"\n  Port 2222\n`)
    expect(await listConfigHosts(dir)).toEqual({ hosts: ['rack1'], matchExec: true })
    expect(fs.existsSync(ran)).toBe(false)
    const { host, said } = await way('rack1')
    expect(host.target.port).toBe(2222)
    expect(fs.readFileSync(ran, 'utf8')).toBe('x')
    expect(said.at(-1)).toContain('your ssh configuration ran commands of its own (Match exec)')
  })

  it('says which line is wrong', async () => {
    write('config', 'Host rack1\n  Bogus yes\n')
    await expect(target('rack1')).rejects.toMatchObject({
      code: 'ssh/config-invalid',
      params: { host: 'rack1', detail: expect.stringMatching(/line 2.*bogus/i) },
    })
  })

  it('is not needed where there is no ssh', async () => {
    write('config', 'Host rack1\n  Port 2222\n')
    const run: typeof runLocal = async () => undefined
    const { host } = await resolveWay({ sshDir: dir, env, run }, { host: 'rack1' }, forever)
    expect(host.target).toMatchObject({
      address: 'rack1',
      port: 22,
      identityFiles: [path.join(dir, 'id_ed25519'), expect.anything(), expect.anything()],
    })
  })
})
