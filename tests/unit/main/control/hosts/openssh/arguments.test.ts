import { describe, expect, it } from 'vitest'
import {
  commandArguments,
  isForwardable,
  masterArguments,
  socketArguments,
  tcpArguments,
} from '../../../../../../src/main/control/hosts/openssh/arguments.ts'
import { configText } from '../../../../../../src/main/control/hosts/openssh/config-text.ts'

describe('a socket that a host names', () => {
  it.each(['/run/eitri/agent.sock', '/home/ops/.local/state/eitri agent/a.sock'])('%s is forwarded', (path) =>
    expect(isForwardable(path)).toBe(true),
  )

  it.each([
    '/run/$' + '{AWS_SECRET_ACCESS_KEY}/agent.sock',
    '/run/$HOME',
    '/run/%d',
    '127.0.0.1:22',
    '/run/a:22',
    'agent.sock',
    '/a\nb',
    '/',
    '',
  ])('%j is not: ssh would fill in what is this computer’s, or read it otherwise', (path) =>
    expect(isForwardable(path)).toBe(false),
  )
})

describe('what the system’s ssh is told', () => {
  it('is what the person typed and no more, for the one that signs in', () => {
    expect(masterArguments({ typed: { host: 'rack1' }, dir: '/run/s', direct: false })).toEqual(
      '-F /run/s/config -M -S /run/s/c -N -T -o ControlPersist=no -- rack1'.split(' '),
    )
    const typed = { host: '::1', port: 2222, user: 'ops', identityFile: '/k', jump: 'a,b' }
    expect(masterArguments({ typed, dir: '/run/s', direct: true }).join(' ')).toBe(
      '-F /run/s/config -M -S /run/s/c -N -T -o ControlPersist=no -o ConnectTimeout=10 -p 2222 -l ops ' +
        '-o IdentitiesOnly=yes -i /k -o ProxyJump=a,b -- ::1',
    )
  })

  it.each([
    ['a command', commandArguments('/run/s', '/run/s/e1', 'echo "$HOME"', false)],
    ['a port', tcpArguments('/run/s', '/run/s/e1', '::1', 22)],
    ['a socket', socketArguments('/run/s', '/run/s/e1', '/run/s/l1', '/run/eitri/agent.sock')],
  ])('can never sign in a second time, for %s', (_, args) => {
    const text = args.join(' ')
    for (const option of ['-F none', '-S /run/s/c', 'ControlMaster=no', 'ProxyCommand=false', 'BatchMode=yes'])
      expect(text).toContain(option)
  })

  it('brackets an IPv6 address in front of its port', () => {
    expect(tcpArguments('/d', '/e', '::1', 22)).toContain('[::1]:22')
    expect(tcpArguments('/d', '/e', 'h', 22)).toContain('h:22')
  })
})

describe('the configuration of one dial', () => {
  const text = (over = {}) =>
    configText({
      askProgram: '/run/100%/ask',
      includes: ['/home/ops/.ssh/config', '/etc/ssh/ssh_config'],
      knownHostsCommand: '',
      ...over,
    })

  it('says what must hold before the person’s own, which it includes', () => {
    const lines = text().split('\n')
    const own = lines.indexOf('Include "/home/ops/.ssh/config"')
    for (const line of [
      'StrictHostKeyChecking yes',
      'GSSAPIKeyExchange no',
      'ClearAllForwardings yes',
      'RemoteCommand none',
    ])
      expect(lines.indexOf(line)).toBeLessThan(own)
    expect(lines.indexOf('IgnoreUnknown GSSAPIKeyExchange')).toBeLessThan(lines.indexOf('GSSAPIKeyExchange no'))
    expect(lines.indexOf('Include "/etc/ssh/ssh_config"')).toBe(own + 1)
    expect(lines).toContain('KnownHostsCommand "/run/100%%/ask" host-key %I %t %K %H')
  })

  it('keeps a KnownHostsCommand of the person’s own, after ours', () => {
    expect(text({ knownHostsCommand: '/bin/known "%H"' })).toContain('host-key %I %t %K %H -- /bin/known "%H"\n')
  })

  it('bounds the dial of the first host on the way', () => {
    expect(text({ firstHop: 'bastion' })).toMatch(/^Match originalhost "bastion"\nConnectTimeout 10\nMatch all\n/)
  })

  it('gives ssh the keys and hosts of a folder it would not look in', () => {
    const elsewhere = { knownHosts: '/x/ssh/known_hosts', identityFiles: ['/x/ssh/id_rsa'] }
    expect(text({ elsewhere })).toMatch(
      /Match all\nUserKnownHostsFile "\/x\/ssh\/known_hosts"\nIdentityFile "\/x\/ssh\/id_rsa"\n$/,
    )
  })

  it('lets no path say anything else', () => {
    expect(text({ includes: ['/a"\nProxyCommand x'] })).toContain('Include "/aProxyCommand x"\n')
  })
})
