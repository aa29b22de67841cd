import { afterAll, beforeAll, expect, it } from 'vitest'
import { SignIn } from '../../../src/main/control/hosts/ssh/auth-walk.ts'
import { connectSsh, type SshConnection } from '../../../src/main/control/hosts/ssh/connection.ts'
import { runCommand } from '../../../src/main/control/hosts/ssh/exec.ts'
import { describeHosts } from '../../support/describe-hosts.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'

describeHosts('commands over SSH', { timeout: 60_000 }, () => {
  const signal = AbortSignal.timeout(60_000)
  let host: SshHost
  let connection: SshConnection
  beforeAll(async () => {
    host = await startSshHost({ name: 'rack1' })
    const target = {
      host: 'rack1',
      address: host.address,
      port: host.port,
      user: 'root',
      identityFiles: [],
      identitiesOnly: true,
      identityAgent: '',
      identityAgentNamed: false,
      knownHostsFiles: [],
      hostKeyName: host.address,
    }
    const password = host.passwords.root
    const signIn = new SignIn({ user: 'root', files: [], agentKeys: [], agent: undefined, password })
    connection = await connectSsh({ target, signIn, hostKeyOrder: ['ssh-ed25519'], verify: () => undefined, signal })
  }, 30_000)
  afterAll(async () => {
    connection?.close()
    await host?.close()
  })

  it('keep their exit status however soon they end', async () => {
    const options = { host: 'rack1', signal, timeoutMs: 10_000 }
    for (let round = 0; round < 30; round++) {
      const codes = [0, 1, 2, 3, 4].map(async (code) => (await runCommand(connection, `exit ${code}`, options)).code)
      expect(await Promise.all(codes)).toEqual([0, 1, 2, 3, 4])
    }
  })
})
