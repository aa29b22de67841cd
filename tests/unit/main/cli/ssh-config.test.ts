import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../../../../src/main/cli/cli.ts'
import {
  removeSshConfig,
  withInclude,
  withoutInclude,
  writeSshConfig,
} from '../../../../src/main/cli/ssh-config-file.ts'
import { sshConfigText, sshOptions } from '../../../../src/main/cli/ssh-options.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'

const WAY = { self: ['/opt/my node/bin/node', '/opt/100%/cli.mjs'], logins: '/run/user/1000/eitri/ab-ssh' }

describe('what ssh is told of guests', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'eitri-sshconf-'))
    writeFileSync(join(dir, 'config'), sshConfigText(WAY))
  })
  afterEach(() => rmSync(dir, { recursive: true }))
  const asked = (...args: string[]): Record<string, string> => {
    const lines = execFileSync('ssh', ['-G', '-F', join(dir, 'config'), ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).split('\n')
    return Object.fromEntries(lines.map((line) => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1)]))
  }

  it('is of VMs alone, and as root where nobody says another', () => {
    expect(asked('web.eitri')).toMatchObject({ user: 'root', stricthostkeychecking: 'true', identitiesonly: 'no' })
    expect(asked('debian@web.lab.eitri')).toMatchObject({ user: 'debian' })
    for (const other of ['web', 'web.eitri.example', 'eitri']) expect(asked(other)['proxycommand']).toBeUndefined()
  })

  it('keeps words of this program whole, whatever is in them', () => {
    const command = "'/opt/my node/bin/node' /opt/100%%/cli.mjs connect --login '%r' -- '%h' '%p'"
    expect(asked('web.eitri')['proxycommand']).toBe(command)
    const own = sshOptions({ ...WAY, dataDir: "/it's" }, { login: 'root', host: 'web.eitri', port: '22' })
    expect(own[0]?.[1]).toContain(`--data-dir '/it'\\''s' connect`)
  })

  it('never gives a shell a name that would end its quotes', () => {
    expect(() => asked("a'$(id)'.eitri")).toThrow()
    const matched = /^Match (.*)$/m.exec(sshConfigText(WAY))?.[1]
    expect(matched).toBe(`originalhost "*.eitri,!*'*,!*\\\\*" !user "*'*,*\\\\*"`)
  })
})

describe('the line in ~/.ssh/config', () => {
  it('is put at the top once, and taken away so that nothing is left of it', () => {
    const text = fc
      .array(fc.constantFrom('Host a', '  User b', '# c', '', 'Include other', 'Match all', 'é\t'))
      .map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, (before) => {
        const after = withInclude(before)
        return (
          after === `Include eitri/config\n${before}` &&
          withInclude(after) === after &&
          withoutInclude(after) === before
        )
      }),
    )
  })

  it('stays where a person put it, unless it counts for some hosts only there', () => {
    const own = '# mine\ninclude  eitri/config\nHost a\n'
    expect(withInclude(own)).toBe(own)
    expect(withInclude('Host a\n  Include eitri/config\n  User b\n')).toBe('Include eitri/config\nHost a\n  User b\n')
  })
})

describe('the files of ~/.ssh', () => {
  let dir: string
  let ssh: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'eitri-sshdir-'))
    ssh = join(dir, '.ssh')
  })
  afterEach(() => rmSync(dir, { recursive: true }))
  const config = () => readFileSync(join(ssh, 'config'), 'utf8')

  it('are made where there were none, for their owner alone, and gone again', async () => {
    expect([await writeSshConfig(ssh, 'Host x\n'), await writeSshConfig(ssh, 'Host x\n')]).toEqual([true, false])
    expect(config()).toBe('Include eitri/config\n')
    expect([ssh, join(ssh, 'eitri')].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700])
    expect(['config', 'eitri/config'].map((name) => statSync(join(ssh, name)).mode & 0o777)).toEqual([0o600, 0o600])
    expect([await removeSshConfig(ssh), await removeSshConfig(ssh)]).toEqual([true, false])
    expect(readdirSync(ssh)).toEqual([])
  })

  it('keep their mode, and a link stays a link', async () => {
    mkdirSync(ssh)
    writeFileSync(join(dir, 'dotfile'), 'Host a\n')
    chmodSync(join(dir, 'dotfile'), 0o644)
    symlinkSync('../dotfile', join(ssh, 'config'))
    await writeSshConfig(ssh, 'Host x\n')
    expect(config()).toBe('Include eitri/config\nHost a\n')
    expect(lstatSync(join(ssh, 'config')).isSymbolicLink()).toBe(true)
    expect(statSync(join(dir, 'dotfile')).mode & 0o777).toBe(0o644)
    await removeSshConfig(ssh)
    expect([config(), existsSync(join(ssh, 'eitri')), readdirSync(dir).sort()]).toEqual([
      'Host a\n',
      false,
      ['.ssh', 'dotfile'],
    ])
  })

  it("that a link leads to are emptied and never removed: they are the person's", async () => {
    mkdirSync(ssh, { mode: 0o700 })
    writeFileSync(join(dir, 'dotfile'), '', { mode: 0o644 })
    symlinkSync('../dotfile', join(ssh, 'config'))
    await writeSshConfig(ssh, 'Host x\n')
    await removeSshConfig(ssh)
    expect([config(), lstatSync(join(ssh, 'config')).isSymbolicLink()]).toEqual(['', true])
  })

  it('that cannot be written are said, with what to do by hand', async () => {
    mkdirSync(join(ssh, 'config'), { recursive: true })
    await expect(writeSshConfig(ssh, 'Host x\n')).rejects.toMatchObject({
      code: 'app/part-missing',
      params: { next: 'Put this line at the top of it yourself: Include eitri/config' },
    })
  })

  it('are not written for an ssh too old to read them', async () => {
    const run = async (version: string) => {
      const io = new FakeTerminal()
      const given = {
        logins: () => '/run/x',
        dir: ssh,
        self: ['eitri'],
        run: async () => 0,
        version: async () => version,
      }
      const code = await runCli(['ssh-config', '--write', '--json'], {
        ...{ io, now: () => 0, apiSocket: () => '/none', ssh: given },
        embed: async () => ({ async stop() {} }),
        async serve() {},
      })
      return { code, out: io.out, err: io.err }
    }
    const old = await run('OpenSSH_8.3p1, OpenSSL 1.1.1k')
    expect([old.code, old.err]).toEqual([
      3,
      expect.stringMatching(/^OpenSSH 8\.4 or newer \(OpenSSH_8\.3p1.*\) is missing here\./),
    ])
    expect((await run('')).code).toBe(3)
    expect(existsSync(ssh)).toBe(false)
    const done = await run('OpenSSH_9.2p1 Debian-2')
    expect(JSON.parse(done.out)).toEqual({
      config_file: join(ssh, 'eitri/config'),
      included_from: join(ssh, 'config'),
      changed: true,
    })
  })
})
