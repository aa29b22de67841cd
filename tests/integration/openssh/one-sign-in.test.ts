import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bootSector, SECTOR_BANNER } from '../../support/boot-sector.ts'
import { ConsoleViewer } from '../../support/console-client.ts'
import { describeHosts } from '../../support/describe-hosts.ts'
import { Desktop } from '../../support/eitri.ts'
import { connected, tryAddHost } from '../../support/fleet.ts'
import { loginsOf } from '../../support/logins.ts'
import { type PrivateSshd, startPrivateSshd } from '../../support/private-sshd.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'

const MIB = 1 << 20

describeHosts('a host from the command line', { timeout: 90_000 }, () => {
  let desktop: Desktop
  let host: SshHost
  let bastion: PrivateSshd
  let ran: string
  beforeAll(async () => {
    desktop = await new Desktop().start()
    host = await startSshHost({ name: 'rack1' })
    bastion = await startPrivateSshd()
    ran = path.join(desktop.home, 'match-exec-ran')
  }, 40_000)
  afterAll(async () => {
    await desktop?.close()
    await host?.close()
    await bastion?.close()
  })

  const timesRun = () => (fs.existsSync(ran) ? fs.readFileSync(ran, 'utf8').length : 0)
  const configure = (...lines: string[]) => {
    const hop = [
      `Port ${bastion.port}`,
      `User ${bastion.user}`,
      `IdentityFile ${bastion.keyFile}`,
      'HostName 127.0.0.1',
    ]
    const own = [`HostName ${host.address}`, 'User dev', `IdentityFile ${host.clientKeyPath}`, ...lines]
    const block = (name: string, inside: string[]) => `Host ${name}\n${inside.map((line) => `  ${line}\n`).join('')}`
    const exec = `Match originalhost lab exec "printf x >>${ran}"\n  Compression no\n`
    fs.writeFileSync(path.join(desktop.home, '.ssh/config'), exec + block('lab', own) + block('bastion', hop), {
      mode: 0o600,
    })
    const key = `[127.0.0.1]:${bastion.port} ssh-ed25519 ${bastion.hostKey.blob.toString('base64')}\n`
    fs.writeFileSync(path.join(desktop.home, '.ssh/known_hosts'), key)
  }
  const add = async (name: string, ...more: string[]) => {
    const args = [name, '--ssh', 'lab', '--accept-host-key', host.hostKeyFingerprint, '--take-over', ...more]
    const added = await tryAddHost(desktop, args)
    expect({ code: added.code, stderr: added.stderr }).toMatchObject({ code: 0 })
    return connected(desktop, name)
  }
  /** An image is sent, a guest boots from it and is seen and typed to. */
  const use = async (name: string) => {
    const file = path.join(desktop.home, `${name}.raw`)
    fs.writeFileSync(file, Buffer.concat([bootSector(), randomBytes(3 * MIB - 512)]))
    await desktop.must(['image', 'add', name, '--file', file])
    await desktop.must(
      ['vm', 'create', name, '--host', name, '--image', name, '--mem-mb', '64', '--disk-gb', '1', '--wait'],
      { timeoutMs: 80_000 },
    )
    const viewer = new ConsoleViewer(() => desktop.apiSocket, name)
    await viewer.waitFor(SECTOR_BANNER, 60_000)
    await viewer.close()
  }

  it('is not asked for by looking at hosts: Match exec does not run', async () => {
    configure()
    await desktop.must(['host', 'list'])
    expect(timesRun()).toBe(0)
  })

  it('is added through a jump host, used and dialled again, with one sign-in each time and Match exec run once', async () => {
    configure()
    const shown = await add('jumped', '--jump', 'bastion')
    expect(shown).toMatchObject({ ssh_client: 'ssh2', ssh_client_detail: '', carrier: 'streamlocal' })
    await use('jumped')
    expect([loginsOf(host), loginsOf(bastion), timesRun()]).toEqual([1, 1, 1])
    await desktop.stop()
    await desktop.start()
    await connected(desktop, 'jumped')
    expect([loginsOf(host), loginsOf(bastion), timesRun()]).toEqual([2, 2, 1])
  })

  it('is added by the system’s ssh, which it says, used and dialled again, with one sign-in each time', async () => {
    await desktop.must(['host', 'remove', 'jumped', '--force'])
    await host.close()
    host = await startSshHost({ name: 'rack2' })
    configure('KnownHostsCommand /bin/true')
    const shown = await add('system')
    expect(shown).toMatchObject({ ssh_client: 'openssh', carrier: 'streamlocal' })
    expect(shown.ssh_client_detail).toBe("Your setup uses a KnownHostsCommand, so the system's own ssh carries it.")
    await use('system')
    await expect.poll(() => loginsOf(host)).toBe(1)
    await desktop.stop()
    await desktop.start()
    await connected(desktop, 'system')
    await expect.poll(() => loginsOf(host)).toBe(2)
  })
})
