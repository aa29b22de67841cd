import { expect } from 'vitest'
import { faultLine } from '../../../src/ipc/fault-text.ts'
import { asFault } from '../../../src/ipc/faults.ts'
import { runScript } from '../../../src/main/control/hosts/ssh/script.ts'
import { checkSudo } from '../../../src/main/control/hosts/sudo.ts'
import { loginsOf } from '../../support/logins.ts'
import { childrenOf } from '../../support/private-sshd.ts'
import type { SshHost } from '../../support/ssh-host.ts'
import { forever } from '../../support/ssh-login.ts'
import { type MatrixRow, runMatrix, type Session } from './matrix.ts'
import { aLogin, PASSWORD } from './people.ts'

const NOTICED_MS = 15_000
const login = (user: string, shell?: string, bashrc?: string) => ({
  user,
  prepare: (host: SshHost) => aLogin(host, user, shell, bashrc),
})

/** A login that may use sudo with its password, as this line of sudoers has it besides. */
const sudoer = (user: string, line: string) => ({
  user,
  prepare: async (host: SshHost) => {
    await aLogin(host, user)
    const rules = `${user} ALL=(ALL) ALL\nDefaults:${user} ${line}\n`
    await host.must(['sh', '-c', `cat >/etc/sudoers.d/${user} && chmod 0440 /etc/sudoers.d/${user}`], { input: rules })
  },
})
const asRoot = ({ connection }: Session, password = PASSWORD) =>
  runScript(connection, 'id -u; echo aside >&2; exit 3', {
    host: 'matrix',
    signal: forever,
    timeoutMs: 20_000,
    sudo: { password },
  })
const rootWorks = async (session: Session) => {
  expect(await asRoot(session)).toMatchObject({ code: 3, output: '0\n', stderr: expect.stringContaining('aside') })
}
const sudoSays = async (session: Session, says: RegExp) => {
  const fault = asFault(await asRoot(session).catch((error: unknown) => error))
  expect({ code: fault.code, says: faultLine(fault.code, fault.params) }).toEqual({
    code: 'ssh/sudo-refused',
    says: expect.stringMatching(says),
  })
}

const rows: MatrixRow[] = [
  { name: 'one session at a time (MaxSessions 1)', sshd: ['MaxSessions 1'], ends: { carrier: 'streamlocal' } },
  {
    name: 'two commands at once run one after the other where one session is allowed',
    sshd: ['MaxSessions 1'],
    ends: { carrier: 'streamlocal' },
    uses: async ({ connection }) => {
      const run = (word: string) =>
        runScript(connection, `sleep 0.2; echo ${word}`, { host: 'matrix', signal: forever, timeoutMs: 10_000 })
      const both = await Promise.all([run('one'), run('two')])
      expect(both.map(({ output }) => output)).toEqual(['one\n', 'two\n'])
    },
  },
  {
    name: 'one session and no forwarded sockets: the link has it, bulk shares it, and a command says so',
    sshd: ['MaxSessions 1', 'AllowStreamLocalForwarding no'],
    ends: { carrier: 'stdio' },
    uses: async ({ connection, link, sshd }) => {
      const bulk = await link.bulk(forever)
      expect((await bulk.client.getStatus({})).agentVersion).not.toBe('')
      const fault = asFault(await connection.exec('true').catch((error: unknown) => error))
      expect(faultLine(fault.code, fault.params)).toBe(
        'matrix opens no further session on this connection (MaxSessions) (the link to the agent has the only one). Nothing was changed. Allow two sessions, or forwarding of sockets (AllowStreamLocalForwarding), in its sshd_config.',
      )
      await expect.poll(() => loginsOf(sshd)).toBe(1)
    },
  },
  {
    name: 'no session at all (MaxSessions 0)',
    sshd: ['MaxSessions 0'],
    ends: {
      fault: 'ssh/sessions-refused',
      says: /^matrix opens no further session on this connection \(MaxSessions\)/,
    },
  },
  { name: 'no forwarded sockets', sshd: ['AllowStreamLocalForwarding no'], ends: { carrier: 'stdio' } },
  { name: 'no forwarding of anything', sshd: ['DisableForwarding yes'], ends: { carrier: 'stdio' } },
  { name: 'no forwarded ports', sshd: ['AllowTcpForwarding no'], ends: { carrier: 'stdio' } },
  { name: 'no terminals', sshd: ['PermitTTY no'], ends: { carrier: 'streamlocal' } },
  { name: 'no SFTP', sshd: ['Subsystem sftp /bin/false'], ends: { carrier: 'streamlocal' } },
  {
    name: 'a banner and a message of the day',
    prepare: (host) => host.must(['sh', '-c', 'yes "Authorised use only" | head -200 >/run/banner']).then(() => {}),
    sshd: ['Banner /run/banner', 'PrintMotd yes'],
    ends: { carrier: 'streamlocal' },
  },
  {
    name: 'a login shell that prints 50 kB, without an end of line, through a pipe',
    ...login('noisy', '/bin/bash', 'head -c 50000 /dev/zero | tr "\\0" x; printf "no end"; echo aside >&2\n'),
    sshd: ['AllowStreamLocalForwarding no'],
    ends: { carrier: 'stdio' },
  },
  {
    name: 'fish',
    ...login('fishy', '/usr/bin/fish'),
    sshd: ['AllowStreamLocalForwarding no'],
    ends: { carrier: 'stdio' },
  },
  { name: 'csh', ...login('cshy', '/bin/csh'), sshd: ['AllowStreamLocalForwarding no'], ends: { carrier: 'stdio' } },
  { name: 'dash', ...login('dashy', '/bin/dash'), ends: { carrier: 'streamlocal' } },
  {
    name: 'a login without a shell',
    ...login('shellless', '/usr/sbin/nologin'),
    ends: {
      fault: 'ssh/no-shell',
      says: /does not run the commands it is sent \(it said "This account is currently not available\."\)\. .* Use a login/,
    },
  },
  {
    name: 'a login whose password has expired',
    user: 'stale',
    prepare: async (host) => {
      await aLogin(host, 'stale')
      await host.must(['chage', '-d', '0', 'stale'])
    },
    ends: { fault: 'ssh/no-shell', says: /Password change required/ },
  },
  {
    name: 'a name service that does not answer (UseDNS)',
    sshd: ['UseDNS yes'],
    prepare: (host) =>
      host
        .must(['sh', '-c', 'printf "nameserver 192.0.2.1\\noptions timeout:2 attempts:1\\n" >/etc/resolv.conf'])
        .then(() => {}),
    before:
      async ({ host }) =>
      () =>
        host.must(['rm', '/etc/resolv.conf']),
    ends: { carrier: 'streamlocal' },
  },
  {
    name: 'a fixed command of another kind',
    sshd: ['ForceCommand echo only backups here'],
    ends: { fault: 'ssh/no-shell', says: /\(it said "only backups here"\)/ },
  },
  {
    name: 'a link that is cut is noticed at once, and made anew',
    ends: { carrier: 'streamlocal' },
    uses: async ({ link, again, host, sshd }) => {
      const [listener] = host
        .listProcesses()
        .filter(({ argv }) => argv.join(' ').includes(`/run/sshd-${sshd.port}.conf`))
      for (const pid of childrenOf(listener!.pid).flatMap((child) => [child, ...childrenOf(child)]))
        process.kill(pid, 'SIGKILL')
      expect((await link.closed).code).toBe('ssh/lost')
      await again()
    },
  },
  {
    name: 'a half-open link is noticed within 15 s, and made anew',
    timeoutMs: 40_000,
    ends: { carrier: 'streamlocal' },
    uses: async ({ host, link, again }) => {
      await host.dropPackets(true)
      const at = performance.now()
      expect((await link.closed).code).toBe('host/no-answer')
      expect(performance.now() - at).toBeLessThan(NOTICED_MS)
      await host.dropPackets(false)
      await again()
    },
  },
  {
    name: 'a host that restarts: refused while sshd is away, in once it is back',
    ends: { carrier: 'streamlocal' },
    uses: async ({ host, sshd, link, again }) => {
      await sshd.stop()
      expect((await link.closed).code).toBe('ssh/lost')
      await expect(again()).rejects.toMatchObject({
        code: 'host/unreachable',
        params: { detail: 'connection refused' },
      })
      await host.must(['/usr/sbin/sshd', '-f', `/run/sshd-${sshd.port}.conf`, '-E', `/run/sshd-${sshd.port}.log`])
      await again()
    },
  },
  { name: 'sudo with a password', ...sudoer('sudo1', 'use_pty'), ends: { carrier: 'streamlocal' }, uses: rootWorks },
  {
    name: 'sudo that wants a terminal',
    ...sudoer('sudo2', 'requiretty'),
    ends: { carrier: 'streamlocal' },
    uses: rootWorks,
  },
  {
    name: 'sudo that wants a terminal where the server gives none',
    ...sudoer('sudo3', 'requiretty'),
    sshd: ['PermitTTY no'],
    ends: { carrier: 'streamlocal' },
    uses: (session) => sudoSays(session, /wants a terminal \(requiretty\) and the server gives none \(PermitTTY no\)/),
  },
  {
    name: 'sudo with a wrong password, then the right one',
    ...sudoer('sudo4', 'passwd_tries=3'),
    ends: { carrier: 'streamlocal' },
    uses: async ({ connection }) => {
      const asked: unknown[] = []
      const task = {
        signal: forever,
        ask: async (question: unknown) => ({ secret: asked.push(question) > 1 ? PASSWORD : 'not it' }),
      }
      const who = { host: 'matrix', login: 'sudo4@matrix', password: undefined }
      expect(await checkSudo(connection, who, task)).toBe(PASSWORD)
      expect(asked).toMatchObject([
        { problem: '' },
        { problem: 'sudo did not take that password.', of: 'sudo4@matrix' },
      ])
    },
  },
  {
    name: 'sudo that wants the password of root',
    ...sudoer('sudo5', 'rootpw'),
    ends: { carrier: 'streamlocal' },
    uses: async ({ connection, host }) => {
      const task = {
        signal: forever,
        ask: async (question: unknown) => {
          expect(question).toMatchObject({ of: 'root@matrix' })
          return { secret: host.passwords.root }
        },
      }
      const who = { host: 'matrix', login: 'sudo5@matrix', password: undefined }
      expect(await checkSudo(connection, who, task)).toBe(host.passwords.root)
    },
  },
  {
    name: 'sudo for a login that may not',
    ...login('plain'),
    ends: { carrier: 'streamlocal' },
    uses: (session) => sudoSays(session, /plain is not in the sudoers file.* Use a login that may use sudo/),
  },
]

runMatrix('limits of a real sshd and of a login', rows)
