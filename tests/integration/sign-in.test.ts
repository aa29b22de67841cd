import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeHosts } from '../support/describe-hosts.ts'
import { Desktop } from '../support/eitri.ts'
import { agentsOf, connected, tryAddHost } from '../support/fleet.ts'
import { loginsOf } from '../support/logins.ts'
import { startSshHost } from '../support/ssh-host.ts'

describeHosts('signing in to a host', { timeout: 60_000 }, () => {
  let desktop: Desktop
  beforeAll(async () => {
    desktop = await new Desktop().start()
  }, 30_000)
  afterAll(() => desktop?.close())

  it('takes a password from stdin and keeps it nowhere', async () => {
    await using host = await startSshHost({ name: 'rack1', variant: 'password-only' })
    const way = ['rack1', '--ssh', `dev@${host.address}`, '--accept-host-key', host.hostKeyFingerprint]
    const password = host.passwords.dev
    const added = await tryAddHost(desktop, [...way, '--password-stdin'], { input: `${password}\n` })
    expect({ code: added.code, stderr: added.stderr }).toEqual({ code: 0, stderr: '' })
    await connected(desktop, 'rack1')
    expect(desktop.logTail()).not.toContain(password)
    expect(desktop.filesWith(password)).toEqual([])
  })

  it('installs a root agent by sudo with one sign-in, and lets that login steer it from the next one on', async () => {
    await using host = await startSshHost({ name: 'rack2' })
    const key = ['--identity', host.clientKeyPath, '--accept-host-key', host.hostKeyFingerprint]
    const way = ['rack2', '--ssh', `ops@${host.address}`, ...key, '--sudo', '--password-stdin']
    const added = await tryAddHost(desktop, way, { input: `\n${host.passwords.ops}\n` })
    expect({ code: added.code, stderr: added.stderr }).toEqual({ code: 0, stderr: '' })
    expect(await connected(desktop, 'rack2')).toMatchObject({ runs_as: 'root', carrier: 'stdio' })
    await expect.poll(() => loginsOf(host)).toBe(1)
    const sessions = host.listProcesses().filter(({ argv }) => argv[0]?.startsWith('sshd: ops'))
    for (const { pid } of sessions) process.kill(pid, 'SIGKILL')
    const carrier = async () => (await desktop.must(['host', 'show', 'rack2'])).carrier
    await expect.poll(carrier, { timeout: 20_000, interval: 250 }).toBe('streamlocal')
    expect(host.exists('/run/eitri/agent.sock')).toBe(true)
    expect(agentsOf(host)).toHaveLength(1)
    expect(desktop.filesWith(host.passwords.ops)).toEqual([])
  })

  it('says that a sudo password is wrong and installs nothing', async () => {
    await using host = await startSshHost({ name: 'rack3' })
    const key = ['--identity', host.clientKeyPath, '--accept-host-key', host.hostKeyFingerprint]
    const way = ['rack3', '--ssh', `ops@${host.address}`, ...key, '--sudo', '--password-stdin']
    const result = await tryAddHost(desktop, way, { input: '\nnot-it\n' })
    expect(result).toMatchObject({ code: 1, stderr: expect.stringMatching(/sudo on .* refused/) })
    expect(agentsOf(host)).toEqual([])
    expect(await host.must(['sh', '-c', 'ls -A /usr/local/lib/eitri /var/lib/eitri'])).not.toContain('eitri-agent')
  })
})
