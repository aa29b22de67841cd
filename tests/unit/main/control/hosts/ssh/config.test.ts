import { describe, expect, it } from 'vitest'
import {
  knownAs,
  SAYS_NOTHING,
  targetFromConfig,
  targetWithoutConfig,
} from '../../../../../../src/main/control/hosts/ssh/config.ts'
import { parseDestination } from '../../../../../../src/main/control/hosts/ssh/destination.ts'

const context = { home: '/home/ops', sshDir: '/home/ops/.ssh', env: { SSH_AUTH_SOCK: '/run/agent' } }
const configured = (output: string, over = {}) => targetFromConfig(output, { host: 'rack1' }, { ...context, ...over })
const target = (output: string, over = {}) => configured(output, over).target
const PLAIN = 'hostname 10.1.2.3\nport 2222\nuser ops\nidentityfile ~/.ssh/id_ed25519\n'

describe('what ssh -G says', () => {
  it('becomes a target with absolute paths', () => {
    const known = 'userknownhostsfile ~/.ssh/known_hosts /srv/known\nglobalknownhostsfile none\n'
    expect(target(PLAIN + known)).toEqual({
      host: 'rack1',
      address: '10.1.2.3',
      port: 2222,
      user: 'ops',
      identityFiles: ['/home/ops/.ssh/id_ed25519'],
      identitiesOnly: false,
      identityAgent: '/run/agent',
      identityAgentNamed: false,
      knownHostsFiles: ['/home/ops/.ssh/known_hosts', '/srv/known'],
      hostKeyName: '10.1.2.3',
    })
  })

  it('finds the person’s .ssh where it really is', () => {
    expect(target(PLAIN, { sshDir: '/tmp/x/ssh' }).identityFiles).toEqual(['/tmp/x/ssh/id_ed25519'])
  })

  it.each([
    ['none', '', true],
    ['SSH_AUTH_SOCK', '/run/agent', false],
    ['~/agent.sock', '/home/ops/agent.sock', true],
  ])('reads IdentityAgent %s', (written, socket, named) => {
    const read = target(`${PLAIN}identityagent ${written}\n`)
    expect([read.identityAgent, read.identityAgentNamed]).toEqual([socket, named])
  })

  it('files a key under its alias, which has no port', () => {
    expect(knownAs(target(`${PLAIN}hostkeyalias web\n`))).toEqual({ host: 'web', port: 22 })
    expect(knownAs(target(PLAIN))).toEqual({ host: '10.1.2.3', port: 2222 })
  })

  it.each([
    ['proxyjump a,ops@b:2222', { proxyJump: 'a,ops@b:2222' }],
    ['proxycommand nc %h %p', { proxyCommand: 'nc %h %p' }],
    ['certificatefile ~/.ssh/id-cert.pub', { certificateFiles: ['/home/ops/.ssh/id-cert.pub'] }],
    ['pkcs11provider /usr/lib/token.so', { pkcs11Provider: '/usr/lib/token.so' }],
    ['securitykeyprovider /usr/lib/sk.so', { securityKeyProvider: '/usr/lib/sk.so' }],
    ['securitykeyprovider internal', {}],
    ['knownhostscommand /bin/known %H', { knownHostsCommand: '/bin/known %H' }],
    ['bindinterface eth1', { bind: 'eth1' }],
    ['hostbasedauthentication yes', { hostbased: true }],
    ['gssapiauthentication yes', { gssapi: true }],
    ['gssapiauthentication no', {}],
    ['proxycommand none\nproxyjump none\ncertificatefile none', {}],
  ])('says of %s what only some clients can do', (line, says) => {
    expect(configured(`${PLAIN}${line}\n`).says).toEqual({ ...SAYS_NOTHING, ...says })
  })

  it('fills the tokens of file names, which ssh leaves as written', () => {
    const files = 'identityfile ~/.ssh/%r@%h:%p\nidentityfile %d/keys/%n-%%x\nidentityfile /srv/%Z\n'
    expect(target(`hostname 10.1.2.3\nport 2222\nuser ops\n${files}`).identityFiles).toEqual([
      '/home/ops/.ssh/ops@10.1.2.3:2222',
      '/home/ops/keys/rack1-%x',
      '/srv/%Z',
    ])
  })

  it('is not needed: without ssh the usual places are looked at', () => {
    const plain = targetWithoutConfig({ host: 'rack1', port: 2200 }, 'me', context)
    expect(plain).toMatchObject({ address: 'rack1', port: 2200, user: 'me' })
    expect(plain.identityFiles[0]).toBe('/home/ops/.ssh/id_ed25519')
  })
})

describe('a typed host', () => {
  it.each([
    ['rack1', { host: 'rack1' }],
    ['ops@rack1', { host: 'rack1', user: 'ops' }],
    ['ops@rack1:2222', { host: 'rack1', user: 'ops', port: 2222 }],
    ['ssh://ops@rack1:2222/', { host: 'rack1', user: 'ops', port: 2222 }],
    ['[fe80::1%eth0]:22', { host: 'fe80::1%eth0', port: 22 }],
    ['2001:db8::1', { host: '2001:db8::1' }],
    ['a@b@rack1', { host: 'rack1', user: 'a@b' }],
  ])('%s is read as user, host and port', (typed, read) => expect(parseDestination(typed)).toEqual(read))

  it.each([
    '',
    '-oProxyCommand=x',
    'ops@-rf',
    'a b',
    '$(id)',
    'rack1:0',
    'rack1:99999',
    'rack1:x',
    '-l@rack1',
    'a;b@rack1',
  ])('%s is refused before any program sees it', (typed) =>
    expect(() => parseDestination(typed)).toThrow(expect.objectContaining({ code: 'input/invalid' })),
  )
})
