import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { signInTo } from '../../../src/main/control/hosts/dial-host.ts'
import type { Answer, Question } from '../../../src/main/control/tasks/task-context.ts'
import { describeHosts } from '../../support/describe-hosts.ts'
import { type HostSshd, startHostSshd } from '../../support/host-sshd.ts'
import { loginsOf } from '../../support/logins.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'
import { forever } from '../../support/ssh-login.ts'
import { aHost } from '../../support/store-rows.ts'
import { aDesk, type Desk, trusting } from '../../support/ways-rig.ts'
import { aTokenLogin, code, PASSWORD } from '../sshd-matrix/people.ts'

/** A setup that asks for the system's ssh, and adds nothing. */
const SYSTEM = 'KnownHostsCommand /bin/true'
const PHRASE = randomBytes(9).toString('base64url')

describeHosts('what the system’s ssh asks', {}, () => {
  let host: SshHost
  let sshd: HostSshd
  let desk: Desk
  let port = 2300
  beforeAll(async () => {
    host = await startSshHost({ name: 'asks' })
    await host.must(['groupadd', '-f', 'eitri'])
    await aTokenLogin(host, 'token', 'sshd-token', false)
    await aTokenLogin(host, 'both', 'sshd-both', true)
  }, 30_000)
  afterAll(() => host?.close())
  beforeEach(() => {
    desk = aDesk()
  })
  afterEach(async () => {
    desk?.close()
    await sshd?.stop()
  })

  const serve = async (user: string, lines: string[], { pam, key = '' }: { pam?: string; key?: string } = {}) => {
    sshd = await startHostSshd(host, { port: ++port, lines, ...(pam ? { pam } : {}) })
    const own = [
      `HostName ${host.address}`,
      `Port ${port}`,
      `User ${user}`,
      SYSTEM,
      ...(key ? [`IdentityFile ${key}`] : []),
    ]
    desk.write('config', `Host lab\n${own.map((text) => `  ${text}\n`).join('')}`)
    return `${user}@${host.address}`
  }
  const log = () => fs.readFileSync(sshd.logFile, 'utf8')
  /** Answers host keys, then in order; the questions asked beside host keys. */
  const answering = (...answers: ((question: Question) => Answer)[]) => {
    const asked: Question[] = []
    const answer = (question: Question): Answer => {
      if (question.kind === 'host_key') return trusting(question)
      asked.push(question)
      return answers[asked.length - 1]?.(question) ?? {}
    }
    return { asked, answer }
  }
  const secret = (text: string) => () => ({ secret: text })
  const enter = async (answer: (question: Question) => Answer) => {
    const entrance = await desk.enter({ host: 'lab' }, answer)
    expect(entrance.connection.client).toBe('openssh')
    return entrance
  }
  const rowOf = ({ ssh }: Awaited<ReturnType<typeof enter>>) => {
    const row = aHost({ kind: 'ssh', ssh: { ...ssh, useSudo: false } })
    return desk.fleet.stores.hosts.create({ ...row, tenant: 'default' })
  }

  it('a passphrase, again when it is wrong, and it is kept with what else is known', async () => {
    const key = path.join(desk.sshDir, 'locked')
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', PHRASE, '-f', key])
    await host.must(['sh', '-c', 'cat >>/home/dev/.ssh/authorized_keys'], {
      input: fs.readFileSync(`${key}.pub`, 'utf8'),
    })
    await serve('dev', [], { key })
    const { asked, answer } = answering(secret('wrong'), secret(PHRASE))
    const { connection, secrets, hostKeys, ...entrance } = await enter(answer)
    expect(asked).toEqual([
      { kind: 'secret', what: 'passphrase', of: key, problem: '' },
      { kind: 'secret', what: 'passphrase', of: key, problem: 'That passphrase does not open the key.' },
    ])
    expect(secrets).toEqual({ passphrase: PHRASE })
    await expect.poll(() => loginsOf(sshd)).toBe(1)
    connection.close()
    const row = rowOf({ connection, secrets, hostKeys, ...entrance })
    for (const {
      host: filed,
      port: at,
      key: { how: _, ...rest },
    } of hostKeys)
      desk.fleet.stores.hostKeys.accept({ host: filed, port: at, ...rest, firstSeen: new Date(0), how: 'accepted' })
    await expect(signInTo(desk.fleet.ssh, row, forever)).rejects.toMatchObject({
      code: 'ssh/passphrase-wrong',
      params: { file: key },
    })
    desk.fleet.deps.secrets.give(row.id, secrets)
    const again = await signInTo(desk.fleet.ssh, row, forever)
    again.close()
    await expect.poll(() => loginsOf(sshd)).toBe(2)
  })

  it('a password, and sends no empty one when nobody is there', async () => {
    const of = await serve('both', ['PasswordAuthentication yes', 'PubkeyAuthentication no'])
    const { asked, answer } = answering(secret('wrong'), secret(PASSWORD))
    const entrance = await enter(answer)
    expect(asked).toEqual([
      { kind: 'secret', what: 'password', of, problem: '' },
      { kind: 'secret', what: 'password', of, problem: 'The host did not take that password.' },
    ])
    entrance.connection.close()
    const row = rowOf(entrance)
    for (const {
      host: filed,
      port: at,
      key: { how: _, ...rest },
    } of entrance.hostKeys)
      desk.fleet.stores.hostKeys.accept({ host: filed, port: at, ...rest, firstSeen: new Date(0), how: 'accepted' })
    const failed = () => log().match(/Failed password/g)?.length ?? 0
    const before = failed()
    await expect(signInTo(desk.fleet.ssh, row, forever)).rejects.toMatchObject({
      code: 'ssh/auth-refused',
      params: { address: of },
    })
    expect(failed()).toBe(before)
    desk.fleet.deps.secrets.give(row.id, { password: PASSWORD })
    const again = await signInTo(desk.fleet.ssh, row, forever)
    again.close()
    await expect.poll(() => loginsOf(sshd)).toBe(2)
  })

  it('a code after a key, in the server’s own words; without anybody it tries nothing', async () => {
    const lines = ['KbdInteractiveAuthentication yes', 'AuthenticationMethods publickey,keyboard-interactive']
    const of = await serve('token', lines, { pam: 'sshd-token', key: host.clientKeyPath })
    const { asked, answer } = answering(secret('000000'), code)
    const entrance = await enter(answer)
    expect(asked).toMatchObject([
      { kind: 'prompt', of, prompt: expect.stringMatching(/code/i), echo: false, problem: '' },
      { kind: 'prompt', of, problem: 'The host did not take that answer.' },
    ])
    expect(entrance.secrets).toEqual({})
    await expect.poll(() => loginsOf(sshd)).toBe(1)
    entrance.connection.close()
    const row = rowOf(entrance)
    for (const {
      host: filed,
      port: at,
      key: { how: _, ...rest },
    } of entrance.hostKeys)
      desk.fleet.stores.hostKeys.accept({ host: filed, port: at, ...rest, firstSeen: new Date(0), how: 'accepted' })
    const failures = () => log().match(/error: PAM|Failed keyboard/g)?.length ?? 0
    const before = failures()
    await expect(signInTo(desk.fleet.ssh, row, forever)).rejects.toMatchObject({
      code: 'ssh/code-needed',
      params: { address: of, prompt: expect.stringMatching(/code/i) },
    })
    expect(failures()).toBe(before)
  })

  it('a password and a code by the same means, and only the password is kept', async () => {
    await serve('both', ['KbdInteractiveAuthentication yes', 'PubkeyAuthentication no'], { pam: 'sshd-both' })
    const { asked, answer } = answering(secret(PASSWORD), code)
    const { connection, secrets } = await enter(answer)
    expect(asked.map((question) => question.kind)).toEqual(['secret', 'prompt'])
    expect(secrets).toEqual({ password: PASSWORD })
    connection.close()
  })

  it('is never found in an argument, an environment or a file', async () => {
    await serve('both', ['PasswordAuthentication yes', 'PubkeyAuthentication no'])
    const { connection } = await enter(answering(secret(PASSWORD)).answer)
    const [folder] = desk.folders()
    const files = fs.readdirSync(path.join(desk.dir, folder!), { withFileTypes: true, recursive: true })
    const texts = files
      .filter((entry) => entry.isFile())
      .map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    const processes = fs.readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))
    for (const pid of processes)
      for (const what of ['cmdline', 'environ']) texts.push(readIfThere(`/proc/${pid}/${what}`))
    expect(texts.length).toBeGreaterThan(20)
    expect(texts.filter((text) => text.includes(PASSWORD))).toEqual([])
    connection.close()
  })

  it('nothing that is left open when the person calls it off', async () => {
    await serve('both', ['PasswordAuthentication yes', 'PubkeyAuthentication no'])
    const fault = await desk
      .enter({ host: 'lab' }, (question) => (question.kind === 'host_key' ? trusting(question) : {}))
      .catch((error: unknown) => error)
    expect(fault).toMatchObject({ code: 'ssh/auth-refused' })
    await expect.poll(() => desk.folders()).toEqual([])
    expect(log()).not.toMatch(/Failed password/)
  })
})

function readIfThere(file: string): string {
  try {
    return fs.readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
