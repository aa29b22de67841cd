import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { faultLine } from '../../../src/ipc/fault-text.ts'
import { asFault, Fault, type FaultCode } from '../../../src/ipc/faults.ts'
import type { AgentConnection } from '../../../src/main/control/hosts/agent-connection.ts'
import { attachOnce } from '../../../src/main/control/hosts/attach-once.ts'
import { lookAtHost } from '../../../src/main/control/hosts/look.ts'
import { connectPinned, signInAlone, signInAsking } from '../../../src/main/control/hosts/sign-in.ts'
import type { SignIn } from '../../../src/main/control/hosts/ssh/auth-walk.ts'
import type { SshTarget } from '../../../src/main/control/hosts/ssh/config.ts'
import type { SshConnection } from '../../../src/main/control/hosts/ssh/connection.ts'
import { KeyRing, type Secrets } from '../../../src/main/control/hosts/ssh/credentials.ts'
import { firstExec, openAgent } from '../../../src/main/control/hosts/ssh-connector.ts'
import type { Answer, Question } from '../../../src/main/control/tasks/task-context.ts'
import { describeHosts } from '../../support/describe-hosts.ts'
import { type HostSshd, startHostSshd } from '../../support/host-sshd.ts'
import { loginsOf } from '../../support/logins.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'
import { forever, systemClock, targetOf } from '../../support/ssh-login.ts'

export const EXECUTABLE = '/usr/local/bin/eitri-agent'
export const SOCKET = '/run/eitri/agent.sock'
const STAGED = '/root/eitri-agent'
const BUILT = path.resolve(import.meta.dirname, '../../../dist/agent/eitri-agent-linux-x64')
const FLEET = { fleetId: 'f'.repeat(32), controllerName: 'matrix', version: 'test' }
const FIRST_PORT = 2200

/** A session that works: what the row's connection is then used for. */
export interface Session {
  host: SshHost
  sshd: HostSshd
  connection: SshConnection
  link: AgentConnection
  /** Signs in anew as the row does, to the end of a working session. */
  again(): Promise<void>
}

export interface MatrixRow {
  name: string
  /** Of sshd_config, in place of the defaults of the rig. */
  sshd?: string[]
  /** PAM service of its own; `prepare` writes /etc/pam.d/<pam>. */
  pam?: string
  /** Absent = dev, who has the rig's key and may steer the agent. */
  user?: string
  prepare?(host: SshHost): Promise<void>
  target?(host: SshHost): Partial<SshTarget>
  secrets?(host: SshHost): Secrets
  /** Answers the questions in order; the last one goes on. Absent = nothing may be asked. */
  answers?: ((question: Question) => Answer | Promise<Answer>)[]
  /** Between the start of its sshd and the sign-in; what it returns undoes it. */
  before?(at: { host: SshHost; sshd: HostSshd }): Promise<() => unknown>
  ends: { carrier: 'streamlocal' | 'stdio'; how?: RegExp; logins?: number } | { fault: FaultCode; says: RegExp }
  /** As a link does it: with what is known, asking nobody. */
  alone?: true
  /** The host was accepted with another key. */
  otherKey?: true
  /** With the working session. */
  uses?(session: Session): Promise<void>
  timeoutMs?: number
}

/** Every row against a server of its own on one host: a working session, or the words it promises. */
export function runMatrix(title: string, rows: MatrixRow[]): void {
  describeHosts(title, { timeout: 30_000 }, () => {
    let host: SshHost
    beforeAll(async () => {
      host = await startSshHost({ name: 'matrix' })
      fs.copyFileSync(BUILT, host.outside(STAGED))
      await host.must(['chmod', '755', STAGED])
      await host.must([STAGED, 'install', '--json', '--start', '--steer-user', 'dev'])
    }, 60_000)
    afterAll(() => host?.close(), 30_000)
    for (const [n, row] of rows.entries())
      it(row.name, { timeout: row.timeoutMs ?? 30_000 }, () => runRow(host, row, FIRST_PORT + n))
  })
}

async function runRow(host: SshHost, row: MatrixRow, port: number): Promise<void> {
  await row.prepare?.(host)
  const sshd = await startHostSshd(host, {
    port,
    ...(row.sshd ? { lines: row.sshd } : {}),
    ...(row.pam ? { pam: row.pam } : {}),
  })
  const undo = await row.before?.({ host, sshd })
  try {
    const { ends } = row
    if ('fault' in ends) {
      const fault = asFault(await open(host, sshd, row).then(closeAll, (error: unknown) => error))
      expect({ code: fault.code, says: faultLine(fault.code, fault.params) }).toEqual({
        code: ends.fault,
        says: expect.stringMatching(ends.says),
      })
      return
    }
    const session = await open(host, sshd, row)
    try {
      expect(session.link.carrier).toBe(ends.carrier)
      expect(session.how).toMatch(ends.how ?? /./)
      await expect.poll(() => loginsOf(sshd)).toBe(ends.logins ?? 1)
      const again = () => open(host, sshd, row).then(closeAll)
      await row.uses?.({ host, sshd, connection: session.connection, link: session.link, again })
    } finally {
      closeAll(session)
    }
  } finally {
    await undo?.()
    await sshd.stop()
  }
}

interface Opened {
  connection: SshConnection
  link: AgentConnection
  how: string
}

/** Sign-in, a command, the agent's Hello and its status. */
async function open(host: SshHost, sshd: HostSshd, row: MatrixRow): Promise<Opened> {
  const user = row.user ?? 'dev'
  const target = targetOf(
    { port: sshd.port, user, keyFile: host.clientKeyPath },
    { host: 'matrix', address: host.address, hostKeyName: host.address, ...row.target?.(host) },
  )
  const hostKey = row.otherKey
    ? { ...sshd.hostKey, blob: Buffer.from('other'), fingerprint: 'SHA256:other' }
    : sshd.hostKey
  const request = {
    target,
    secrets: row.secrets?.(host) ?? {},
    ring: new KeyRing(),
    connect: (signIn: SignIn) => connectPinned({ target, hostKey, signal: forever }, signIn),
  }
  const task = { signal: forever, ask: asker(row.answers ?? []) }
  const { connection, how } = row.alone
    ? { connection: await signInAlone({ ...request, refused: () => {} }), how: 'alone' }
    : await signInAsking({ ...request, task })
  try {
    await firstExec(connection, 'matrix', forever)
    const look = await lookAtHost(connection, 'matrix', forever)
    expect(look).toMatchObject({ platform: 'Linux', user })
    const place = { socketPath: SOCKET, executable: EXECUTABLE, stateDir: '', startedBy: 'systemd' }
    const link = await openAgent(connection, place, {
      host: 'matrix',
      clock: systemClock,
      signal: forever,
      mayStart: false,
    })
    const { hello } = await attachOnce(link, 'matrix', FLEET, { takeOver: false, signal: forever })
    expect(hello.agentVersion).not.toBe('')
    expect((await link.client.getStatus({})).agentVersion).toBe(hello.agentVersion)
    return { connection, link, how }
  } catch (error) {
    connection.close()
    throw error
  }
}

function closeAll({ link, connection }: Opened): void {
  link.close(new Fault('app/cancelled', 'cancelled'))
  connection.close()
}

function asker(answers: NonNullable<MatrixRow['answers']>) {
  let at = 0
  return async (question: Question, withdrawn?: AbortSignal): Promise<Answer> => {
    const answer = answers[Math.min(at++, answers.length - 1)]
    if (!answer) throw new Error(`nobody is there to answer ${JSON.stringify(question)}`)
    const gone = new Promise<never>((_, reject) => withdrawn?.addEventListener('abort', () => reject(withdrawn.reason)))
    return Promise.race([answer(question), gone])
  }
}
