import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateHostKey } from '../../src/agent/seed/host-key.ts'
import { until } from '../support/ports-rig.ts'
import { privateSshdImpossible } from '../support/private-sshd.ts'
import { SshFleet, type SshGuest } from '../support/ssh-guest.ts'

const BATCH = ['-o', 'BatchMode=yes']
const rsync = existsSync('/usr/bin/rsync')

describe.skipIf(privateSshdImpossible())('the way into guests by the person’s own ssh', { timeout: 120_000 }, () => {
  let fleet: SshFleet
  let web: { vmId: string; guest: SshGuest }
  const ssh = (...args: string[]) => fleet.run(['ssh', ...BATCH, ...args])

  beforeAll(async () => {
    fleet = await SshFleet.open()
    web = await fleet.up('web')
    const written = await fleet.eitri(['ssh-config', '--write'])
    expect(written).toMatchObject({ code: 0, stdout: '/root/.ssh/eitri/config is included from /root/.ssh/config.\n' })
  })
  afterAll(() => fleet?.[Symbol.asyncDispose]())

  it('ssh, scp, sftp and rsync need one line in ~/.ssh/config, and nothing to accept or to type', async () => {
    expect(fleet.ssh('config')).toBe('Include eitri/config\n')
    expect(await ssh('web.eitri', 'echo in; id -un')).toMatchObject({ code: 0, stdout: 'in\nroot\n', stderr: '' })
    const file = join(fleet.home, 'blob')
    writeFileSync(file, Buffer.alloc(3_000_000, 'blob'))
    const there = join(web.guest.root.root, 'blob')
    expect(await fleet.run(['scp', ...BATCH, '/root/blob', `web.eitri:${there}`])).toMatchObject({ code: 0 })
    expect(readFileSync(there).equals(readFileSync(file))).toBe(true)
    const listing = await fleet.run(['sftp', ...BATCH, `web.eitri:${web.guest.root.root}`], { input: 'ls blob\n' })
    expect(listing).toMatchObject({ code: 0, stdout: expect.stringContaining('blob') })
    // Nothing was learnt that would have to be forgotten one day.
    expect(readdirSync(join(fleet.home, '.ssh')).sort()).toEqual(['config', 'eitri'])
  })

  it.skipIf(!rsync)('rsync copies a folder', async () => {
    const there = join(web.guest.root.root, 'copied')
    const copied = await fleet.run(['rsync', '-a', '-e', 'ssh -o BatchMode=yes', '/root/.ssh/', `web.eitri:${there}`])
    expect(copied).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(there).sort()).toEqual(['config', 'eitri'])
  })

  it('eitri ssh runs a command there, passes on what goes in and comes out, and ends as it did', async () => {
    const ran = await fleet.eitri(['ssh', 'web', '--', 'cat; echo err >&2; exit 7'], { input: 'typed' })
    expect(ran).toMatchObject({ code: 7, stdout: 'typed', stderr: 'err\n' })
    const other = await fleet.eitri(['ssh', '--login', 'nobody-here', 'web', '--', 'true'])
    expect(other).toMatchObject({ code: 255, stderr: expect.stringContaining('Permission denied') })
    const none = await fleet.eitri(['ssh', 'nowhere', '--', 'true'])
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/^There is no VM nowhere\./) })
  })

  it('eitri connect carries bytes and nothing else', async () => {
    const banner = await fleet.eitri(['connect', 'web', '22'], { input: 'SSH-2.0-me\r\n' })
    expect(banner.stdout).toMatch(/^SSH-2\.0-OpenSSH/)
    const gone = await fleet.eitri(['connect', 'nowhere', '22'])
    expect(gone).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^There is no VM nowhere\./) })
    const usage = await fleet.eitri(['connect', 'web', '0'])
    expect(usage).toMatchObject({ code: 2, stdout: '' })
  })

  it('ten at once get in, though their logins share a socket', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, (_, i) => ssh('web.eitri', `echo ${i}`)))
    const ended = all.map(({ code, stdout, stderr }) => [code, stdout, stderr])
    expect(ended).toEqual(all.map((_, i) => [0, `${i}\n`, '']))
  })

  it('a login has a socket and known hosts while it lasts, and no key on any disk', async () => {
    const dir = join(fleet.rack.dataDir, 'run/ssh')
    const empty = () =>
      until(
        () => (readdirSync(dir).length === 0 ? true : undefined),
        () => readdirSync(dir).join(),
      )
    await empty()
    const during = await ssh('web.eitri', `ls ${dir}; cat ${dir}/*.known`)
    expect(during.stdout).toMatch(
      /^root@web\.eitri\nroot@web\.eitri\.known\n@cert-authority default\.web,web\.eitri ssh-ed25519 \S+\ndefault\.web,web\.eitri ssh-ed25519 \S+\n$/,
    )
    await empty()
  })

  it('the agent of a login is not lent to the guest', async () => {
    const lent = await ssh('-A', 'web.eitri', 'ssh-add -L')
    expect(lent.stderr).toMatch(/Could not open a connection to your authentication agent/)
  })

  it('a name of another tenant is another VM, or none', async () => {
    const foreign = await ssh('web.lab.eitri', 'true')
    expect(foreign).toMatchObject({ code: 255, stdout: '' })
    await fleet.rack.client.tenants.createTenant({ name: 'lab' })
    const empty = await ssh('web.lab.eitri', 'true')
    expect(empty.stderr).toContain('There is no VM web')
  })

  it('a revoked certificate is refused once the list has reached the guest, and others go on', async () => {
    fleet.keygen('-t', 'ed25519', '-N', '', '-f', 'mine')
    const publicKey = readFileSync(join(fleet.home, 'mine.pub'), 'utf8').trim()
    const { certificate, issued } = await fleet.rack.client.trust.issueCertificate({
      vm: 'web',
      publicKey,
      login: 'root',
    })
    writeFileSync(join(fleet.home, 'mine-cert.pub'), `${certificate}\n`)
    const own = ['-o', 'IdentityAgent=none', '-o', 'IdentitiesOnly=yes', '-i', '/root/mine', 'web.eitri', 'echo in']
    expect(await ssh(...own)).toMatchObject({ code: 0, stdout: 'in\n' })

    await fleet.rack.client.trust.revokeCertificate({ serial: issued!.serial, reason: 'lost' })
    const krl = await until(
      () => (fleet.state && fleet.state.sshKrl.length > 0 ? fleet.state.sshKrl : undefined),
      () => 'a list of revoked certificates',
    )
    expect(await ssh(...own)).toMatchObject({ code: 0, stderr: '' })
    expect(web.guest.bring(await fleet.spec(web.vmId), krl)).toMatchObject({ outcome: 'written' })
    expect(await ssh(...own)).toMatchObject({ code: 255, stderr: expect.stringContaining('Permission denied') })
    expect(web.guest.log).toMatch(/revoked by file .*eitri_revoked_keys/)
    expect(await ssh('web.eitri', 'echo still')).toMatchObject({ code: 0, stdout: 'still\n' })
  })

  it('a guest with a key of somebody else is refused with words', async () => {
    const forged = generateHostKey('web')
    await web.guest.boot(await fleet.spec(web.vmId), new Uint8Array(), forged)
    const refused = await ssh('web.eitri', 'true')
    expect(refused).toMatchObject({
      code: 255,
      stderr: expect.stringMatching(/Host key verification failed|HOST IDENTIFICATION HAS CHANGED/),
    })
    const alias = await fleet.eitri(['ssh', 'web', '--', 'true'])
    expect(alias).toMatchObject({ code: 255, stderr: expect.stringContaining('Host key verification failed') })
    await web.guest.boot(await fleet.spec(web.vmId), new Uint8Array())
    expect(await ssh('web.eitri', 'true')).toMatchObject({ code: 0 })
  })

  it('a new VM in the place of a deleted one, under its name and address, is nothing to accept', async () => {
    const { port } = web.guest
    await web.guest.stop()
    fleet.guests.delete(web.vmId)
    await fleet.rack.client.vms.deleteVm({ vm: 'web' })
    const again = await fleet.up('web', port)
    expect(again.guest.hostKey.publicKey).not.toBe(web.guest.hostKey.publicKey)
    expect(await ssh('web.eitri', 'echo new')).toMatchObject({ code: 0, stdout: 'new\n', stderr: '' })
    web = again
  })

  it('a VM that is not up says so, and so does ssh', async () => {
    fleet.guests.delete(web.vmId)
    const off = await ssh('web.eitri', 'true')
    expect(off).toMatchObject({
      code: 255,
      stderr: expect.stringMatching(/^web cannot be reached from rack \(it is not running\)\./),
    })
    fleet.guests.set(web.vmId, web.guest)
  })

  it('is taken away again, and the person’s own file is as it was', async () => {
    const own = join(fleet.home, '.ssh/config')
    writeFileSync(own, 'Host other\r\n  User dana\r\n')
    await fleet.eitri(['ssh-config', '--write'])
    await fleet.eitri(['ssh-config', '--write'])
    expect(fleet.ssh('config')).toBe('Include eitri/config\nHost other\r\n  User dana\r\n')
    expect(await ssh('-G', 'other').then(({ stdout }) => stdout)).toMatch(/^user dana$/m)
    expect(await fleet.eitri(['ssh-config', '--remove'])).toMatchObject({ code: 0 })
    expect(fleet.ssh('config')).toBe('Host other\r\n  User dana\r\n')
    expect(existsSync(join(fleet.home, '.ssh/eitri'))).toBe(false)
    expect((await ssh('web.eitri', 'true')).stderr).toMatch(/resolve hostname/)
  })
})
