import { expect, it } from 'vitest'
import { describeHosts } from '../../support/describe-hosts.ts'
import { loginsOf } from '../../support/logins.ts'
import { startPrivateSshd } from '../../support/private-sshd.ts'
import { runProgram } from '../../support/run-program.ts'
import { startSshHost } from '../../support/ssh-host.ts'

const OPTIONS = ['-F', 'none', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no', '-o', 'LogLevel=ERROR']
const login = (target: string, key: string, port = 22) =>
  runProgram('ssh', [...OPTIONS, '-o', 'UserKnownHostsFile=/dev/null', '-p', `${port}`, '-i', key, target, 'true'])

describeHosts('logins of a test sshd', {}, () => {
  it('are counted when they were let in, and only then', async () => {
    await using sshd = await startPrivateSshd()
    await expect.poll(() => loginsOf(sshd)).toBe(0)
    expect((await login('root@127.0.0.1', sshd.keyFile, sshd.port)).code).toBe(0)
    expect((await login('nobody-here@127.0.0.1', sshd.keyFile, sshd.port)).code).toBe(255)
    await expect.poll(() => loginsOf(sshd)).toBe(1)
  })

  it('go on being counted when the sshd of a host is started anew with other lines', async () => {
    await using host = await startSshHost({ name: 'rack1' })
    expect((await login(`dev@${host.address}`, host.clientKeyPath)).code).toBe(0)
    await host.restartSshd(['Port 2222', 'Match User ops', 'PubkeyAuthentication no'])
    expect((await login(`dev@${host.address}`, host.clientKeyPath, 2222)).code).toBe(0)
    expect((await login(`ops@${host.address}`, host.clientKeyPath, 2222)).code).toBe(255)
    await expect.poll(() => loginsOf(host)).toBe(2)
  }, 20_000)
})
