import { Duplex } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../../src/ipc/base/clock.ts'
import { Fault } from '../../../../../src/ipc/faults.ts'
import type { AgentLink } from '../../../../../src/main/control/hosts/agent-link.ts'
import type { SshConnection } from '../../../../../src/main/control/hosts/ssh/connection.ts'
import { openAgent } from '../../../../../src/main/control/hosts/ssh-connector.ts'

const PLACE = { socketPath: '/run/eitri/agent.sock', executable: '/opt/agent', stateDir: '', startedBy: 'systemd' }
const quiet = () => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
const links: AgentLink[] = []

/** A signed-in connection that opens sockets or refuses them, and tells what else is asked of it. */
function connection(opens: boolean) {
  const asked: string[] = []
  const refuse = () => Promise.reject(new Fault('ssh/protocol', 'transient', { host: 'rack1', detail: 'refused' }))
  const fake = {
    client: 'ssh2',
    hostKey: { fingerprint: 'SHA256:x' },
    rxBytes: () => 0,
    closed: new Promise(() => {}),
    close() {},
    openSocket: () => (opens ? Promise.resolve(quiet()) : refuse()),
    exec(command: string) {
      asked.push(command)
      return refuse()
    },
  }
  return { asked, connection: fake as unknown as SshConnection }
}

const open = async (to: SshConnection, sessionFree: Promise<void>) => {
  const options = { host: 'rack1', clock: systemClock, signal: new AbortController().signal, mayStart: false }
  const link = await openAgent(to, PLACE, { ...options, sessionFree })
  links.push(link)
  return link.carrier
}

afterEach(() => {
  for (const link of links.splice(0)) link.close(new Fault('app/cancelled', 'cancelled'))
})

describe('the agent behind a signed-in connection', () => {
  it('is reached through its socket while the login shell still starts', async () => {
    const { connection: to, asked } = connection(true)
    expect(await open(to, new Promise(() => {}))).toBe('streamlocal')
    expect(asked).toEqual([])
  })

  it('is asked for by a command only once the first command has ended, so that one session is enough', async () => {
    const { connection: to, asked } = connection(false)
    const first = Promise.withResolvers<void>()
    const opening = open(to, first.promise)
    await new Promise(setImmediate)
    expect(asked).toEqual([])
    first.resolve()
    await expect(opening).rejects.toMatchObject({ code: 'ssh/protocol' })
    expect(asked).toHaveLength(1)
  })
})
