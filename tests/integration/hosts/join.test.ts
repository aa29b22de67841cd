import { copyFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { describeHosts } from '../../support/describe-hosts.ts'
import { Desktop, REPO } from '../../support/eitri.ts'
import { agentsOf, connected, tryAddHost } from '../../support/fleet.ts'
import { runProgram } from '../../support/run-program.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'

const BUILT = `${REPO}/dist/agent/eitri-agent-linux-x64`
/** Where a person puts it by hand. */
const AGENT = '/opt/eitri-agent'
const KEYS = '/var/lib/eitri-login/.ssh/authorized_keys'
const SOON = { timeout: 15_000, interval: 100 }

const blobOf = async (desktop: Desktop, ...more: string[]): Promise<string> =>
  (await desktop.must(['host', 'join-blob', ...more])).blob

async function aHost(): Promise<SshHost> {
  const host = await startSshHost({ name: 'edge' })
  copyFileSync(BUILT, host.outside(AGENT))
  await host.must(['chmod', '755', AGENT])
  return host
}

const join = (host: SshHost, blob: string) => host.exec([AGENT, 'join', '-', '--json'], { input: `${blob}\n` })

const addJoined = (desktop: Desktop, host: SshHost, ...more: string[]) =>
  tryAddHost(desktop, [
    host.name,
    ...['--ssh', host.address, '--joined', '--accept-host-key', host.hostKeyFingerprint],
    ...more,
  ])

describeHosts('a host that joins by a blob', { timeout: 180_000 }, () => {
  it('lets the control plane in by a key that may do one thing, is revoked, joins again, and is as before after an uninstall', async () => {
    await using host = await aHost()
    await using desktop = await new Desktop().start()
    const passwd = await host.must(['cat', '/etc/passwd'])

    const blob = await blobOf(desktop)
    const joined = await join(host, blob)
    expect(joined).toMatchObject({ code: 0 })
    expect(joined.stdout + joined.stderr).not.toContain(blob)
    const line = await host.must(['cat', KEYS])
    expect(line).toMatch(/^restrict,expiry-time="\d{14}",command="\/usr\/local\/bin\/eitri-agent rpc --stdio --socket /)
    const added = await addJoined(desktop, host)
    expect(added, added.stderr).toMatchObject({ code: 0 })
    expect(added.json).toMatchObject({ name: 'edge', credential: 'key', created: true })
    const shown = await connected(desktop, 'edge')
    expect(shown).toMatchObject({ carrier: 'stdio', address: `eitri@${host.address}:22`, runs_as: 'root' })

    // Attached, its key goes on for a month, and its token is over.
    const ends = async () => (await desktop.must(['host', 'show', 'edge'])).credential_ends_at
    await expect.poll(async () => Date.parse(await ends()) - Date.now(), SOON).toBeGreaterThan(29 * 24 * 3600_000)
    expect(await host.must(['cat', '/var/lib/eitri/joined.json'])).toMatch(/"token": ""/)
    expect(await host.must(['stat', '-c', '%U %a', KEYS])).toBe('root 640\n')

    await desktop.must(['host', 'revoke', 'edge'])
    await expect.poll(() => host.exists(KEYS), SOON).toBe(false)
    await expect.poll(async () => (await desktop.must(['host', 'show', 'edge'])).link, SOON).toBe('sign_in_needed')
    const again = await addJoined(desktop, host)
    expect(again.code).toBe(1)

    const used = await join(host, blob)
    expect(used.code).toBe(0)
    const refused = await addJoined(desktop, host)
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('token invalid, expired, or already used'),
    })
    expect((await desktop.must(['host', 'show', 'edge'])).credential).toBe('revoked')

    expect(await join(host, await blobOf(desktop))).toMatchObject({ code: 0 })
    const back = await addJoined(desktop, host)
    expect(back, back.stderr).toMatchObject({ code: 0 })
    expect(await connected(desktop, 'edge')).toMatchObject({ id: shown.id, credential: 'key' })

    await desktop.must(['host', 'forget', 'edge', '--yes'])
    await host.must(['/usr/local/bin/eitri-agent', 'uninstall', '--purge', '--json'])
    expect(await host.must(['cat', '/etc/passwd'])).toBe(passwd)
    expect(agentsOf(host)).toEqual([])
    for (const path of ['/var/lib/eitri-login', '/usr/local/bin/eitri-agent']) expect(host.exists(path)).toBe(false)
  })

  it('gives whoever has the key nothing but the agent, and nothing at all after its end', async () => {
    await using host = await aHost()
    await using desktop = await new Desktop().start()
    expect(await join(host, await blobOf(desktop))).toMatchObject({ code: 0 })
    // Anybody's key in the place of the fleet's: what sshd does with the line is what counts.
    const line = await host.must(['cat', KEYS])
    const own = (await runProgram('ssh-keygen', ['-y', '-f', host.clientKeyPath])).stdout.trim()
    const put = (text: string) => host.must(['tee', KEYS], { input: text })
    const ssh = (...command: string[]) => {
      const options = ['-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null']
      return runProgram('ssh', ['-i', host.clientKeyPath, ...options, `eitri@${host.address}`, ...command], {
        input: '',
      })
    }
    await put(line.replace(/ssh-ed25519 .*/, own))
    const asked = await ssh('cat', '/etc/shadow')
    expect(asked.stdout).toMatch(/^EITRI-AGENT-RPC 1\n/)
    expect(asked.stdout).not.toContain('root:')
    expect((await ssh('-N', '-o', 'ExitOnForwardFailure=yes', '-L', '1:127.0.0.1:22')).code).not.toBe(0)
    await put(line.replace(/expiry-time="\d+"/, 'expiry-time="20200101000000"').replace(/ssh-ed25519 .*/, own))
    const ended = await ssh('true')
    expect(ended.code).toBe(255)
    expect(ended.stdout).toBe('')
  })

  it('refuses garbage, an ended blob and anybody but root, says none of it back, and leaves nothing', async () => {
    await using host = await aHost()
    await using desktop = await new Desktop().start()
    const blob = await blobOf(desktop)
    for (const bad of ['garbage!', blob.slice(0, -9), `x${blob}`]) {
      const { code, stdout, stderr } = await host.exec([AGENT, 'join', bad])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(/^eitri-agent: invalid join blob: [^\n]+\.\n$/)
      for (let at = 0; at + 8 <= bad.length; at++) expect(stderr).not.toContain(bad.slice(at, at + 8))
    }
    const asDev = await host.exec([AGENT, 'join', blob], { user: 'dev' })
    expect(asDev).toMatchObject({ code: 1, stderr: expect.stringContaining('only root can let a control plane in') })
    const late = await host.exec(['faketime', '+2d', AGENT, 'join', blob])
    if (late.code !== 127) expect(late.stderr).toContain('the blob has ended')
    expect(host.exists('/usr/local/bin/eitri-agent')).toBe(false)
    expect(host.exists('/var/lib/eitri-login')).toBe(false)
  })
})
