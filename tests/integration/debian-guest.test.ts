import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DebianHost, type SshLogin } from '../support/debian-guest.ts'
import { netNamespaceImpossible } from '../support/net-namespace.ts'

const PLAIN = { vmId: 'a1'.repeat(16), name: 'plain-1' }
const OWN = { vmId: 'b2'.repeat(16), name: 'own-1' }
const REFUSING = { vmId: 'c3'.repeat(16), name: 'refusing-1' }
/** What a person may write: lists of its own, which take the place of those of the same name elsewhere. */
const USER_DATA = `#cloud-config
# byte for byte: "quotes", tabs	and ümlauts
write_files:
  - path: /etc/own-file
    content: own
runcmd:
  - echo "own $((6*7))" >/run/own-ran
`
const BOOTS_MS = 420_000
const IMAGE_MS = 600_000

let host: DebianHost
const logins: Record<string, SshLogin> = {}
const on = (name: string, command: string) => host.mustSsh(logins[name]!, command)

/** The control plane's part, played with ssh-keygen: certificates by CAs it has and by one it has not. */
function certify(name: string, hostPublicKey: string): string {
  writeFileSync(host.at(`${name}.pub`), `${hostPublicKey}\n`)
  host.keygen('-s', 'host_ca', '-h', '-I', name, '-n', name, `${name}.pub`)
  return host.text(`${name}-cert.pub`)
}

beforeAll(async () => {
  if (netNamespaceImpossible()) return
  host = await DebianHost.start()
  for (const key of ['host_ca', 'user_ca', 'other_ca', 'by_ca', 'by_other'])
    host.keygen('-t', 'ed25519', '-N', '', '-C', key, '-f', key)
  host.keygen('-s', 'user_ca', '-I', 'dana', '-n', 'debian', 'by_ca.pub')
  host.keygen('-s', 'other_ca', '-I', 'eve', '-n', 'debian', 'by_other.pub')
  const trust = { sshUserCaAuthorizedKeys: [host.text('user_ca.pub')], hostCertRequired: true }
  const plain = host.spec({ ...PLAIN, ...trust })
  const own = host.spec({ ...OWN, ...trust, cloudInit: Buffer.from(USER_DATA) })
  const refusing = host.spec({ ...REFUSING, cloudInit: Buffer.from('#cloud-config\nvendor_data: {enabled: false}\n') })
  host.want(plain, own, refusing)
  for (const spec of [plain, own]) {
    const { hostPublicKey } = await host.row(spec.vmId, (row) => row.hostPublicKey !== '')
    spec.sshHostCert = certify(spec.name, hostPublicKey)
  }
  host.want(plain, own, refusing)
  writeFileSync(host.at('known'), `@cert-authority plain-1,own-1 ${host.text('host_ca.pub')}\n`)
  await Promise.all([PLAIN, OWN, REFUSING].map(({ vmId }) => host.settled(vmId, BOOTS_MS)))
  for (const { vmId, name } of [PLAIN, OWN]) {
    const { ip } = await host.row(vmId, (row) => row.ip !== '')
    logins[name] = { address: ip, alias: name, knownHosts: 'known' }
  }
}, IMAGE_MS + BOOTS_MS)

afterAll(async () => {
  await host?.[Symbol.asyncDispose]()
})

describe.skipIf(netNamespaceImpossible())('a Debian guest', { timeout: 120_000 }, () => {
  it.each(['plain-1', 'own-1'])(
    'shows %s a host certificate, so that nobody is asked whose key that is',
    async (name) => {
      expect(await on(name, 'hostname')).toBe(`${name}\n`)
    },
  )

  it('lets in who has a certificate of the fleet’s CA, and nobody with another’s', async () => {
    const login = logins['plain-1']!
    expect(await host.mustSsh({ ...login, identity: 'by_ca' }, 'id -un')).toBe('debian\n')
    const refused = await host.ssh({ ...login, identity: 'by_other' }, 'true')
    expect(refused).toMatchObject({ code: 255, stderr: expect.stringContaining('Permission denied') })
  })

  it.each(['plain-1', 'own-1'])('%s has its disk in the size asked for', async (name) => {
    const said = await on(name, 'df --output=size -B1 / | tail -1; sudo sfdisk --verify /dev/vda 2>&1')
    expect(Number(said.split('\n')[0]) / 2 ** 30).toBeGreaterThan(3.8)
    expect(said).toMatch(/No errors/i)
  })

  it.each(['plain-1', 'own-1'])('%s steps its clock whenever it is off, from its first boot on', async (name) => {
    const file = '/etc/chrony/conf.d/eitri-clock.conf'
    const began = 'date -d "$(systemctl show -P ExecMainStartTimestamp chrony)" +%s'
    const [setting, written, started] = (await on(name, `cat ${file}; stat -c %Y ${file}; ${began}`)).split('\n')
    expect(setting).toBe('makestep 1 -1')
    expect(Number(started)).toBeGreaterThanOrEqual(Number(written))
  })

  it('without the host’s clock device chrony runs and keeps its sources', async () => {
    const look =
      'systemctl is-active chrony; ls -d /dev/ptp* /etc/chrony/conf.d/*; grep -c ^pool /etc/chrony/chrony.conf'
    const said = await on('plain-1', `${look}; chronyc -n tracking`)
    expect(said).toMatch(/^active\n[\s\S]*\n1\nReference ID/)
    expect(said).not.toContain('ptp')
  })

  it('what a person wrote is there byte for byte, and ran after the fleet’s part', async () => {
    expect(await on('own-1', 'sudo cat /var/lib/cloud/instance/user-data.txt')).toBe(USER_DATA)
    const order = 'test /run/own-ran -nt /var/lib/eitri/fleet-payload && echo after'
    expect(await on('own-1', `cat /etc/own-file /run/own-ran; ${order}`)).toBe('ownown 42\nafter\n')
  })

  it.each(['plain-1', 'own-1'])('cloud-init is done with %s and has nothing to complain of', async (name) => {
    const errors = `grep -h '"errors"' /run/cloud-init/result.json /run/cloud-init/status.json | tr -d ' ,' | sort -u`
    const warnings = 'sudo grep -c WARNING /var/log/cloud-init.log'
    const report = 'systemctl --failed --no-legend; tail -n +2 /var/lib/eitri/fleet-payload'
    expect(await on(name, `cloud-init status; ${errors}; ${warnings}; ${report}`)).toBe(
      'status: done\n"errors":[]\n0\ndisk ok\ntrust ok\nclock ok\nend\n',
    )
  })

  it('the host tells whether the fleet’s part took effect, also of a guest whose user-data turned it off', async () => {
    const guestOf = async ({ vmId }: { vmId: string }) =>
      (await host.row(vmId, ({ guest }) => guest?.cloudInit === 'done' && guest.fleetPayload !== '')).guest
    for (const vm of [PLAIN, OWN])
      expect(await guestOf(vm)).toMatchObject({ guestAgent: 'answering', modules: [], fleetPayload: 'applied' })
    const refused = await guestOf(REFUSING)
    expect(refused).toMatchObject({ fleetPayload: 'not_applied' })
    expect(refused?.fleetPayloadDetail).toMatch(/vendor data off/)
  })

  it('sshd is not reloaded with what it refuses', async () => {
    const file = '/etc/ssh/sshd_config.d/99-broken.conf'
    const again = `sudo sh -c 'sh /var/lib/cloud/instance/scripts/vendor/*' >/dev/null 2>&1`
    const reloads = 'sudo journalctl -u ssh -o cat | grep -c "Reloaded"'
    const broken = `echo "NoSuchOption yes" | sudo tee ${file} >/dev/null`
    const after = `grep -o "^trust failed" /var/lib/eitri/fleet-payload; sudo rm ${file}; sudo sshd -T | grep -i ^trusted`
    expect(await on('own-1', `${reloads}; ${broken}; ${again}; ${reloads}; ${after}`)).toMatch(
      /^([1-9]\d*)\n\1\ntrust failed\ntrustedusercakeys \/etc\/ssh\/eitri_user_ca\.pub\n$/,
    )
  })

  it('its seed is for its host alone, and the same file still after the agent started anew', async () => {
    const seed = () => {
      const { ino, mtimeMs, mode } = statSync(join(host.agent.stateDir, 'vms', OWN.vmId, 'seed.iso'))
      return { ino, mtimeMs, mode: mode & 0o777 }
    }
    const before = seed()
    expect(before.mode).toBe(0o600)
    await host.restartAgent()
    await host.row(OWN.vmId, (row) => row.power === 'running')
    expect(seed()).toEqual(before)
  })
})
