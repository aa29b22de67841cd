import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ActiveSession, AgentConnection } from '../../../src/main/control/hosts/agent-connection.ts'
import { ImagePush } from '../../../src/main/control/hosts/image-push.ts'
import { startFakeAgent, writeBridge } from '../../support/fake-agent.ts'
import { loginsOf } from '../../support/logins.ts'
import { type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { startSlowLine } from '../../support/slow-line.ts'
import { openLab, silentLog, systemClock, targetOf } from '../../support/ssh-login.ts'

const impossible = privateSshdImpossible()
const LINE_BYTES_PER_SECOND = 250_000
/** A piece of 64 KiB, the one before it, and what the kernel holds of a line that slow. */
const BESIDE_MS = 1_400

describe('everything to a host over one sign-in', () => {
  beforeEach((test) => test.skip(impossible !== undefined, impossible))
  const cleanup: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanup.splice(0).reverse()) await step()
  })

  const theHost = async (...options: string[]) => {
    const sshd = await startPrivateSshd(options)
    cleanup.push(() => sshd.close())
    let received = 0
    const flows = Promise.withResolvers<void>()
    const agent = await startFakeAgent(path.join(sshd.dir, 'agent.sock'), {
      statImage: () => ({ haveBytes: 0n, complete: false }),
      async putImage(requests) {
        for await (const { message } of requests) {
          if (message.case !== 'chunk') continue
          received += message.value.length
          flows.resolve()
        }
        return { haveBytes: BigInt(received) }
      },
    })
    cleanup.push(() => agent.close())
    return { sshd, socketPath: agent.socketPath, received: () => received, flows: flows.promise }
  }
  const linkTo = async (sshd: PrivateSshd, socketPath: string, port = sshd.port) => {
    const executable = writeBridge(path.join(sshd.dir, 'eitri-agent'))
    const { link, connection } = await openLab(targetOf({ ...sshd, port }), { socketPath, executable })
    cleanup.push(() => connection.close())
    return link
  }
  const pushOver = (connection: AgentConnection, sshd: PrivateSshd, bytes: Buffer) => {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    fs.writeFileSync(path.join(sshd.dir, sha256), bytes)
    const session = { hostId: 'h1', sessionId: 's1', connection } as unknown as ActiveSession
    const push = new ImagePush({
      images: sshd.dir,
      sessions: { active: () => session },
      clock: systemClock,
      log: silentLog,
    })
    cleanup.push(() => push.stop())
    const over = new Promise<void>((resolve) => push.onChange(() => !push.state('h1', sha256) && resolve()))
    push.want('h1', [{ sha256 }])
    return over
  }

  it.each([
    ['a forwarded socket', 'streamlocal', ['MaxSessions 1']],
    ['a second run of the agent’s own program', 'stdio', ['AllowStreamLocalForwarding no']],
    [
      'the link itself where the server gives no second session',
      'stdio',
      ['AllowStreamLocalForwarding no', 'MaxSessions 1'],
    ],
  ])('an image goes by %s', async (_, carrier, options) => {
    const { sshd, socketPath, received } = await theHost(...options)
    const link = await linkTo(sshd, socketPath)
    expect(link.carrier).toBe(carrier)
    const image = randomBytes(3_000_000)
    await pushOver(link, sshd, image)
    expect(received()).toBe(image.length)
    expect((await link.client.getStatus({})).agentVersion).toBe('fake')
    await expect.poll(() => loginsOf(sshd)).toBe(1)
  })

  it('what is asked while an image crawls over a slow line does not wait for the image', async () => {
    const { sshd, socketPath, flows } = await theHost()
    await using line = await startSlowLine(sshd.port, LINE_BYTES_PER_SECOND)
    const link = await linkTo(sshd, socketPath, line.port)
    const over = pushOver(link, sshd, randomBytes(6 * LINE_BYTES_PER_SECOND))
    let going = true
    void over.then(() => {
      going = false
    })
    await flows
    const waits: number[] = []
    while (going) {
      const at = performance.now()
      await link.client.getStatus({})
      waits.push(performance.now() - at)
    }
    expect(waits.length).toBeGreaterThan(3)
    expect(Math.max(...waits)).toBeLessThan(BESIDE_MS)
  }, 60_000)
})
