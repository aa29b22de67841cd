import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { VmTrustSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import { VmSchema } from '../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { runCli } from '../../../../src/main/cli/cli.ts'
import { withGuestCommand } from '../../../../src/main/cli/ssh-argv.ts'
import { sshConfigText, sshOptions } from '../../../../src/main/cli/ssh-options.ts'
import { refusalWord } from '../../../../src/main/cli/ssh-refusal.ts'
import { FakeTerminal } from '../../../support/fake-terminal.ts'
import { HOST, ScriptedHost } from '../../../support/scripted-host.ts'
import { aVm } from '../../../support/store-rows.ts'

const OPTIONS = new Map([
  ['--json', false],
  ['--tenant', true],
  ['--login', true],
  ['--help', false],
])
const argv = (text: string) => withGuestCommand(text.split(' '), OPTIONS).join(' ')

describe('the words of eitri ssh', () => {
  it.each([
    ['ssh web uname -a', 'ssh web -- uname -a'],
    ['ssh web -x', 'ssh web -- -x'],
    ['ssh web ls --json', 'ssh web -- ls --json'],
    ['--tenant lab ssh --login bob web id -u', '--tenant lab ssh --login bob web -- id -u'],
    ['ssh --login=bob web ps --help', 'ssh --login=bob web -- ps --help'],
    ['ssh web --login bob uname -a', 'ssh web --login bob -- uname -a'],
  ])('after NAME are the guest: %s', (given, is) => expect(argv(given)).toBe(is))

  it.each([
    'ssh web',
    'ssh web --json',
    'ssh web -- uname -a',
    'ssh -- web uname',
    'ssh --help',
    'ssh --lgin x web ls',
  ])('stay as they are: %s', (given) => expect(argv(given)).toBe(given))

  it.each(['vm create ssh x -y', 'help ssh web -a'])('of another command stay as they are: %s', (given) =>
    expect(argv(given)).toBe(given),
  )
})

describe('what ssh may try', () => {
  it('is a certificate or a key, never a password', () => {
    const options = sshOptions({ self: ['eitri'], logins: '/run/x' }, { login: 'root', host: 'web', port: '22' })
    expect(options).toEqual(
      expect.arrayContaining([
        ['PreferredAuthentications', 'publickey'],
        ['PasswordAuthentication', 'no'],
        ['KbdInteractiveAuthentication', 'no'],
      ]),
    )
    expect(sshConfigText({ self: ['eitri'], logins: '/run/x' })).toContain('  PasswordAuthentication no\n')
  })
})

describe('why a guest refuses', () => {
  const vm = (cloudInit: string) => create(VmSchema, { name: 'web', guest: { cloudInit } })
  const trust = (init: object) => create(VmTrustSchema, { vmName: 'web', ...init })

  it.each([
    ['running', { detail: '' }, /^web: cloud-init is at work\..*Try again/],
    ['done', { detail: 'Its sshd has no settings of the fleet.' }, /^web: Its sshd has no settings of the fleet\./],
    ['done', { cutOff: true, detail: 'It was made before the fleet had a CA.' }, /^web: It was made before/],
    ['done', { cutOff: true }, /^web: no authority of this fleet .*eitri cert trust/],
  ])('is said where the fleet knows: cloud-init %s, %o', (cloudInit, init, words) => {
    expect(refusalWord(vm(cloudInit), trust(init))).toMatch(words)
  })

  it('is not guessed', () => expect(refusalWord(vm('done'), trust({}))).toBe(''))
})

describe('eitri ssh', () => {
  it('hands the command on, and says after a refusal what the fleet knows, once', async () => {
    await using rig = await ScriptedHost.open(({ vms }) => {
      vms.create(aVm(HOST, { name: 'web', trustedCas: [] }))
    })
    const ran: (readonly string[])[] = []
    const run = async (code: number) => {
      const io = new FakeTerminal()
      const ssh = {
        ...{ logins: () => '/run/x', dir: '/none', self: ['eitri'], version: async () => '' },
        run: async (args: readonly string[]) => {
          ran.push(args)
          return code
        },
      }
      const ended = await runCli(['ssh', 'web', 'uname', '-a'], {
        ...{ io, now: () => 0, apiSocket: () => rig.apiSocket, ssh },
        embed: async () => ({ async stop() {} }),
        async serve() {},
      })
      return { code: ended, err: io.err }
    }
    expect(await run(255)).toEqual({ code: 255, err: expect.stringMatching(/^web: [^\n]+\n$/) })
    expect(await run(3)).toEqual({ code: 3, err: '' })
    expect(ran[0]?.slice(-4)).toEqual(['web.eitri', '--', 'uname', '-a'])
  })
})

describe('eitri cert issue', () => {
  it('refuses a private key here, and does not say it again', async () => {
    await using rig = await ScriptedHost.open()
    const dir = mkdtempSync(join(tmpdir(), 'eitri-key-'))
    const key = join(dir, 'id')
    writeFileSync(key, '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n')
    const { code, err } = await rig.eitri('cert', 'issue', '--key', key)
    rmSync(dir, { recursive: true })
    expect(code).toBe(2)
    expect(err).toContain('that is the private key; give FILE.pub')
    expect(err).not.toMatch(/BEGIN|b3Blbn/)
  })
})
