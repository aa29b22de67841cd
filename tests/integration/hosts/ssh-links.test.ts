import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findFault } from '../../../src/ipc/faults.ts'
import { upload } from '../../../src/main/control/hosts/ssh/upload.ts'
import { openAgent } from '../../../src/main/control/hosts/ssh-connector.ts'
import { type FakeAgent, startFakeAgent, writeBridge } from '../../support/fake-agent.ts'
import { childrenOf, type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { forever, openLab, signIn, systemClock, targetOf } from '../../support/ssh-login.ts'

const NOTICED_MS = 15_000
const LOAD_BYTES = 24 * 1024 * 1024

const impossible = privateSshdImpossible()

describe('a link over a real sshd', () => {
  beforeEach((test) => test.skip(impossible !== undefined, impossible))
  const cleanup: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanup.splice(0).reverse()) await step()
  })

  const sshdWith = async (...options: string[]): Promise<PrivateSshd> => {
    const sshd = await startPrivateSshd(options)
    cleanup.push(() => sshd.close())
    return sshd
  }
  const agentOn = async (sshd: PrivateSshd, answers?: Parameters<typeof startFakeAgent>[1]): Promise<FakeAgent> => {
    const agent = await startFakeAgent(path.join(sshd.dir, 'agent.sock'), answers)
    cleanup.push(() => agent.close())
    return agent
  }
  const open = async (sshd: PrivateSshd, socketPath: string, executable = '/nowhere/eitri-agent') => {
    const opened = await openLab(targetOf(sshd), { socketPath, executable })
    cleanup.push(() => opened.connection.close())
    return opened
  }

  it('reaches the agent through the forwarded socket', async () => {
    const sshd = await sshdWith()
    const { link } = await open(sshd, (await agentOn(sshd)).socketPath)
    expect(link.carrier).toBe('streamlocal')
    expect(link.hostKeyFingerprint).toBe(sshd.hostKey.fingerprint)
    expect((await link.client.getStatus({})).agentVersion).toBe('fake')
  })

  it('goes through the agent’s own program where forwarding is forbidden, whatever the login prints', async () => {
    const sshd = await sshdWith(
      'AllowStreamLocalForwarding no',
      `ForceCommand echo "Welcome to lab"; printf 'no newline'; eval "$SSH_ORIGINAL_COMMAND"`,
    )
    const bridge = writeBridge(path.join(sshd.dir, 'eitri-agent'))
    const { link } = await open(sshd, (await agentOn(sshd)).socketPath, bridge)
    expect(link.carrier).toBe('stdio')
    expect((await link.client.getStatus({})).agentVersion).toBe('fake')
  })

  it.each([
    ['the agent is not installed', false, 'agent/missing'],
    ['its program is there and nobody listens', true, 'agent/not-running'],
  ])('says what is wrong when %s', async (_, installed, code) => {
    const sshd = await sshdWith()
    const executable = installed ? writeBridge(path.join(sshd.dir, 'eitri-agent')) : '/nowhere/eitri-agent'
    await expect(open(sshd, path.join(sshd.dir, 'nobody.sock'), executable)).rejects.toMatchObject({ code })
  })

  it.each([
    ['app', true],
    ['cron', true],
    ['systemd', false],
  ])('an agent that ended and is started by %s is started by us: %s', async (startedBy, starts) => {
    const sshd = await sshdWith()
    const connection = await signIn(targetOf(sshd))
    cleanup.push(() => connection.close())
    const executable = path.join(sshd.dir, 'eitri-agent')
    const started = path.join(sshd.dir, 'started')
    fs.writeFileSync(executable, `#!/bin/sh\n[ "$1" = start ] && touch '${started}'\nexit 3\n`, { mode: 0o755 })
    const agent = { socketPath: path.join(sshd.dir, 'nobody.sock'), executable, stateDir: sshd.dir, startedBy }
    const how = { host: 'lab', clock: systemClock, signal: forever, mayStart: true }
    await expect(openAgent(connection, agent, how)).rejects.toMatchObject({ code: 'agent/not-running' })
    expect(fs.existsSync(started)).toBe(starts)
  })

  it('ends every call when the connection is cut, and says that it was lost', async () => {
    const sshd = await sshdWith()
    const agent = await agentOn(sshd, {
      async *sync() {
        yield { message: { case: 'end' as const, value: { code: 'transient' } } }
        await new Promise(() => {})
      },
      getStatus: () => new Promise(() => {}),
    })
    const { link } = await open(sshd, agent.socketPath)
    const stream = link.client.sync((async function* () {})())[Symbol.asyncIterator]()
    await stream.next()
    const calls = [link.client.getStatus({}), stream.next()]
    const ends = Promise.allSettled(calls)
    for (const pid of sshd.sessions()) process.kill(pid, 'SIGKILL')
    expect((await link.closed).code).toBe('ssh/lost')
    for (const end of await ends) {
      const error = (end as PromiseRejectedResult).reason
      expect(ConnectError.from(error).code).toBe(Code.Unavailable)
      expect(findFault(error)?.code).toBe('ssh/lost')
    }
  })

  it('notices within 15 s that a host went silent', async () => {
    const sshd = await sshdWith()
    const { link } = await open(sshd, (await agentOn(sshd)).socketPath)
    const frozen = sshd.sessions().flatMap((pid) => [pid, ...childrenOf(pid)])
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    cleanup.push(() => frozen.forEach((pid) => void process.kill(pid, 'SIGKILL')))
    const started = performance.now()
    expect((await link.closed).code).toBe('host/no-answer')
    expect(performance.now() - started).toBeLessThan(NOTICED_MS)
  })

  it('carries bytes unchanged through rekeys under load, with the host key judged once', async () => {
    const sshd = await sshdWith('RekeyLimit 1M 0')
    const agent = await agentOn(sshd)
    let judged = 0
    const connection = await signIn(targetOf(sshd), {
      verify: () => {
        judged++
        return undefined
      },
    })
    cleanup.push(() => connection.close())
    const source = path.join(sshd.dir, 'source')
    const target = path.join(sshd.dir, 'target')
    fs.writeFileSync(source, randomBytes(LOAD_BYTES))
    const duplex = await connection.openSocket(agent.socketPath)
    let sent = 0
    const onProgress = (done: number) => {
      sent = done
    }
    await upload(connection, { host: 'lab', source, target, signal: forever, onProgress })
    expect(duplex.destroyed).toBe(false)
    const digest = (file: string) => createHash('sha256').update(fs.readFileSync(file)).digest('hex')
    expect(digest(target)).toBe(digest(source))
    expect(sent).toBe(LOAD_BYTES)
    expect(judged).toBe(1)
  })

  it('ends an upload when the connection is lost in the middle of it', async () => {
    const sshd = await sshdWith()
    const connection = await signIn(targetOf(sshd))
    cleanup.push(() => connection.close())
    const source = path.join(sshd.dir, 'source')
    fs.writeFileSync(source, Buffer.alloc(LOAD_BYTES))
    const kill = (done: number) => {
      if (done > LOAD_BYTES / 3) for (const pid of sshd.sessions()) process.kill(pid, 'SIGKILL')
    }
    const options = { host: 'lab', source, target: path.join(sshd.dir, 'target'), signal: forever, onProgress: kill }
    await expect(upload(connection, options)).rejects.toMatchObject({ code: 'ssh/lost' })
  })

  it('sends by a command where there is no SFTP', async () => {
    const sshd = await sshdWith('Subsystem sftp /bin/false')
    const connection = await signIn(targetOf(sshd))
    cleanup.push(() => connection.close())
    const source = path.join(sshd.dir, 'source')
    const target = path.join(sshd.dir, "tar get's")
    fs.writeFileSync(source, randomBytes(300_000))
    await upload(connection, { host: 'lab', source, target, signal: forever, onProgress: () => {} })
    expect(fs.readFileSync(target).equals(fs.readFileSync(source))).toBe(true)
  })
})
