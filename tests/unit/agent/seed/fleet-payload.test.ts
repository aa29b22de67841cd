import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type FleetPayload, fleetPayload, payloadMark } from '../../../../src/agent/seed/fleet-payload.ts'
import { type SeedInput, seedDocuments } from '../../../../src/agent/seed/seed-documents.ts'
import { cloudConfig, vendorData } from '../../../../src/agent/seed/vendor-data.ts'
import { CLOCK_POLICIES } from '../../../../src/ipc/clock-policy.ts'
import { GuestRoot } from '../../../support/guest-root.ts'

const VM = '0123456789abcdef'.repeat(2)
const CA = 'ssh-ed25519 AAAACA fleet'
const hostKey = { privateKey: '-----BEGIN\nline two\n-----END\n', certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA' }
const payload = (change: Partial<FleetPayload> = {}): FleetPayload => ({
  vmId: VM,
  ssh: { userCas: [] },
  clock: 'auto',
  ...change,
})

/** The decoded parts of a multipart document, in order. */
function parts(mime: string): { type: string; body: string }[] {
  const boundary = /boundary="([^"]+)"/.exec(mime)![1]!
  return mime
    .split(`--${boundary}\n`)
    .slice(1)
    .map((part) => {
      const [head = '', body = ''] = part.split('\n\n')
      const base64 = body.split(`--${boundary}--`)[0]!
      return { type: /Content-Type: ([^;]+)/.exec(head)![1]!, body: Buffer.from(base64, 'base64').toString('utf8') }
    })
}

describe('vendor-data', () => {
  it('is always there, as MIME of a cloud-config and a shell part', () => {
    expect(parts(vendorData(payload()))).toEqual([
      { type: 'text/cloud-config', body: '#cloud-config\ngrowpart:\n  mode: "off"\nresize_rootfs: false\n' },
      { type: 'text/x-shellscript', body: fleetPayload(payload()) },
    ])
  })

  it('has no list key that user-data could replace', () => {
    const config = parse(cloudConfig({ userCas: [CA], hostKey })) as Record<string, unknown>
    expect(Object.values(config).some(Array.isArray)).toBe(false)
  })

  it('the host key and its certificate arrive byte for byte', () => {
    const config = parse(cloudConfig({ userCas: [], hostKey })) as { ssh_keys: Record<string, string> }
    expect(config.ssh_keys['ed25519_private']).toBe(hostKey.privateKey)
    expect(config.ssh_keys['ed25519_certificate']?.trim()).toBe(hostKey.certificate)
  })

  it('without SSH material nothing of SSH is in it', () => {
    const all = `${cloudConfig({ userCas: [] })}${fleetPayload(payload())}`
    for (const trace of ['ssh_keys', 'sshd', 'TrustedUserCAKeys', 'user_ca', 'RevokedKeys', 'revoked_keys'])
      expect(all).not.toContain(trace)
  })
})

describe("the fleet's script", () => {
  it('writes user CA, sshd and chrony files in this order, then grows, then reloads sshd, then restarts chrony', () => {
    const script = fleetPayload(payload({ ssh: { userCas: [CA, 'ssh-ed25519 TWO'], hostKey } }))
    const order = [
      'user_ca.pub <<',
      'eitri_revoked_keys <<',
      '10-eitri.conf <<',
      'eitri-clock.conf <<',
      '\ngrow\n',
      'if sshd -t',
      '\nclock\n',
    ]
    const at = order.map((text) => script.indexOf(text))
    expect(at).toEqual(at.toSorted((a, b) => a - b))
    expect(at).not.toContain(-1)
    expect(script).toContain(`${CA}\nssh-ed25519 TWO\n`)
  })

  it.each(CLOCK_POLICIES)('steps the clock at any update, whoever keeps it (%s)', (clock) => {
    const script = fleetPayload(payload({ clock }))
    expect(script).toContain("put /etc/chrony/conf.d/eitri-clock.conf <<'EITRI_EOF'\nmakestep 1 -1\nEITRI_EOF\n")
    // Debian's own makestep stands behind its drop-ins and would win.
    const told = "<<'EITRI_EOF'\n[Service]\nExecStartPost=-/usr/bin/chronyc -n makestep 1 -1\nEITRI_EOF\n"
    for (const unit of ['chrony', 'chronyd'])
      expect(script).toContain(`put /etc/systemd/system/${unit}.service.d/10-eitri-clock.conf ${told}`)
  })

  it.each([
    ['auto', true, false],
    ['host-only', true, true],
    ['network', false, false],
    ['none', false, false],
    ['windows-standalone', false, false],
    ['windows-domain', false, false],
  ] as const)("under %s follows the host's clock: %s, and takes network sources out: %s", (clock, follows, alone) => {
    const script = fleetPayload(payload({ clock }))
    expect(script.includes('refclock PHC /dev/ptp_kvm')).toBe(follows)
    expect(script.includes('pool|server|peer')).toBe(alone)
  })
})

describe("the fleet's script in a guest", () => {
  let guest: GuestRoot
  beforeEach(() => {
    guest = new GuestRoot()
  })
  afterEach(() => guest[Symbol.dispose]())
  const full = { ssh: { userCas: [CA], hostKey } }

  it('leaves word of each step, whose it was, and a mark on the console', () => {
    guest.write('dev/vda1', '')
    guest.run(fleetPayload(payload(full)))
    expect(guest.report()).toEqual([VM, 'disk ok', 'trust ok', 'clock ok', 'end'])
    expect(guest.read('dev/console')).toBe(payloadMark('applied', VM))
  })

  it('has a list of revoked certificates, empty too, before sshd is told of it', () => {
    guest.program('sshd', `test -e ${guest.root}/etc/ssh/eitri_revoked_keys || echo too early >>${guest.root}/calls`)
    guest.run(fleetPayload(payload(full)))
    expect(guest.read('etc/ssh/eitri_revoked_keys')).toBe('')
    expect(guest.read('etc/ssh/sshd_config.d/10-eitri.conf')).toMatch(
      /^RevokedKeys \S+\/etc\/ssh\/eitri_revoked_keys$/m,
    )
    const revoked = Buffer.from('SSHKRL\n\0\xff\x00'.repeat(40), 'latin1')
    guest.run(fleetPayload(payload({ ssh: { ...full.ssh, revoked } })))
    expect(guest.bytes('etc/ssh/eitri_revoked_keys')).toEqual(revoked)
    expect(guest.calls().join()).not.toContain('too early')
    expect(guest.files('etc/ssh')).toEqual(['eitri_revoked_keys', 'eitri_user_ca.pub', 'sshd_config.d'])
  })

  it('a guest without base64 gets an empty list: without any, nobody could log in by key', () => {
    guest.program('base64', 'exit 127')
    guest.run(fleetPayload(payload({ ssh: { ...full.ssh, revoked: Buffer.from('SSHKRL') } })))
    expect(guest.read('etc/ssh/eitri_revoked_keys')).toBe('')
    expect(guest.report()).toContain('trust ok')
  })

  it('gives sfdisk exactly one line', () => {
    guest.write('dev/vda1', '')
    guest.program('sfdisk', `od -c | head -1 >>${guest.root}/asked`)
    guest.run(fleetPayload(payload()))
    expect(guest.read('asked').trim()).toMatch(/^0000000 +, +\+ +\\n$/)
    expect(guest.calls().find((call) => call.startsWith('sfdisk'))).toMatch(
      /^sfdisk --no-reread --no-tell-kernel -N 1 \S*\/dev\/vda$/,
    )
  })

  it('grows the partition the root is on, by its own file system’s tool', () => {
    guest.write('dev/vda4', '')
    guest.program('findmnt', `case $2 in SOURCE) echo ${guest.root}/dev/vda4 ;; *) echo xfs ;; esac`)
    guest.program('xfs_growfs')
    guest.run(fleetPayload(payload()))
    expect(guest.calls()).toContain('xfs_growfs /')
    expect(guest.calls().join('\n')).toMatch(/-N 4 /)
    expect(guest.report()).toContain('disk ok')
  })

  it('a disk that did not grow is said, and the rest is done all the same', () => {
    guest.write('dev/vda1', '')
    guest.program('resize2fs', 'exit 1')
    guest.run(fleetPayload(payload(full)))
    expect(guest.report()).toEqual([VM, 'disk failed the file system did not grow', 'trust ok', 'clock ok', 'end'])
    expect(guest.read('dev/console')).toBe(payloadMark('incomplete', VM))
  })

  it('sshd is never reloaded with settings it refuses, and they do not stay for its next start', () => {
    guest.program('sshd', `test ! -e ${guest.root}/etc/ssh/sshd_config.d/10-eitri.conf`)
    guest.run(fleetPayload(payload(full)))
    expect(guest.calls().filter((call) => call.includes('reload ssh'))).toEqual([])
    expect(guest.has('etc/ssh/sshd_config.d/10-eitri.conf')).toBe(false)
    expect(guest.report()).toContain('trust failed sshd refuses the settings of the fleet, which are taken out')
  })

  it('where sshd refuses its own configuration, ours stays and nothing is reloaded', () => {
    guest.program('sshd', 'exit 255')
    guest.run(fleetPayload(payload(full)))
    expect(guest.has('etc/ssh/sshd_config.d/10-eitri.conf')).toBe(true)
    expect(guest.calls().filter((call) => call.includes('reload ssh'))).toEqual([])
    expect(guest.report()).toContain('trust failed sshd refuses its configuration')
  })

  it('where chrony is missing the setting is there for the day it comes, and nothing is failed', () => {
    rmSync(join(guest.root, 'bin/chronyd'))
    guest.run(fleetPayload(payload()).replace('command -v chronyd', 'command -v chronyd-is-not-here'))
    expect(guest.read('etc/chrony/conf.d/eitri-clock.conf')).toBe('makestep 1 -1\n')
    expect(guest.report()).toContain('clock skipped chrony is not installed')
    expect(guest.read('dev/console')).toBe(payloadMark('applied', VM))
  })

  it('chrony that does not start with it gets back to how it was', () => {
    guest.program(
      'systemctl',
      'case "$*" in *is-active*) [ ! -e "$0.restarted" ] ;; *try-restart*) : >"$0.restarted" ;; esac',
    )
    guest.run(fleetPayload(payload()))
    expect(guest.report()).toContain('clock failed chrony did not start with the settings of the fleet')
    expect(guest.has('usr/local/lib/eitri/ptp-kvm.sh')).toBe(false)
    expect(guest.calls()).toContain('systemctl restart chrony.service')
  })

  it('chrony that reads no drop-ins is said', () => {
    guest.write('etc/chrony/chrony.conf', 'pool example.org\n')
    guest.run(fleetPayload(payload()))
    expect(guest.report()).toContain('clock failed chrony reads no drop-ins')
  })
})

describe('before each start of chrony in a guest', () => {
  let guest: GuestRoot
  beforeEach(() => {
    guest = new GuestRoot()
    mkdirSync(join(guest.root, 'run'))
    mkdirSync(join(guest.root, 'etc/default'))
    guest.write('etc/default/chrony', 'DAEMON_OPTS="-F 1 -x"\n')
  })
  afterEach(() => guest[Symbol.dispose]())
  const start = (clock: FleetPayload['clock']) => {
    guest.run(fleetPayload(payload({ clock })))
    execFileSync('/bin/sh', [join(guest.root, 'usr/local/lib/eitri/ptp-kvm.sh')], {
      env: { PATH: `${guest.root}/bin:/usr/bin:/bin` },
    })
  }

  it('without the device chrony is left as it is, and what an earlier host left is taken out', () => {
    mkdirSync(join(guest.root, 'etc/chrony/conf.d'))
    guest.write('etc/chrony/conf.d/eitri-ptp-kvm.conf', 'refclock PHC /dev/ptp_kvm\n')
    start('host-only')
    expect(guest.has('etc/chrony/conf.d/eitri-ptp-kvm.conf')).toBe(false)
    expect(guest.has('run/eitri/chrony.env')).toBe(false)
  })

  it('with the device the host is the preferred reference, and network sources stay', () => {
    guest.write('dev/ptp_kvm', '')
    start('auto')
    expect(guest.read('etc/chrony/conf.d/eitri-ptp-kvm.conf')).toMatch(/^refclock PHC \S+ptp_kvm poll 2 .*prefer\n$/)
    expect(guest.has('etc/chrony/eitri-host-only.conf')).toBe(false)
  })

  it('with the device and "host-only" chrony starts with its own configuration less the network sources', () => {
    guest.write('dev/ptp_kvm', '')
    start('host-only')
    expect(guest.read('etc/chrony/eitri-host-only.conf')).toBe(
      `# pool 2.debian.pool.ntp.org iburst\nconfdir ${guest.root}/etc/chrony/conf.d\n`.replace(guest.root, ''),
    )
    expect(guest.read('run/eitri/chrony.env')).toContain(
      `DAEMON_OPTS="-F 1 -x -f ${guest.root}/etc/chrony/eitri-host-only.conf"\n`,
    )
  })
})

describe('whatever a field of the seed holds', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(
      'EITRI_EOF',
      "'; reboot; '",
      '$(reboot)',
      '`x`',
      '"\n- b',
      ': x',
      '#',
      '--eitri-seed',
      '\u2028',
      '{{ v1 }}',
    ),
  )
  const plain: SeedInput = {
    vmId: VM,
    hostname: 'web',
    authorizedKeys: ['ssh-ed25519 K me'],
    userData: new Uint8Array(),
    mac: '52:54:00:01:02:03',
    ssh: { userCas: [CA], hostKey },
    clock: 'auto',
  }
  const decode = (bytes: Uint8Array | undefined) => Buffer.from(bytes!).toString('utf8')

  it('it is refused, or the documents differ in that field alone', () => {
    fc.assert(
      fc.property(text, fc.constantFrom('key', 'ca', 'certificate', 'name', 'user-data'), (value, field) => {
        const userData = Buffer.from(value)
        const changed: Record<typeof field, SeedInput> = {
          key: { ...plain, authorizedKeys: [value] },
          ca: { ...plain, ssh: { ...plain.ssh, userCas: [value] } },
          certificate: { ...plain, ssh: { ...plain.ssh, hostKey: { ...hostKey, certificate: value } } },
          name: { ...plain, hostname: value },
          'user-data': { ...plain, userData },
        }
        let files: Record<string, Uint8Array>
        try {
          files = seedDocuments(changed[field])
        } catch (error) {
          expect(error).toMatchObject({ code: 'input/invalid', disposition: 'permanent' })
          return
        }
        const meta = parse(decode(files['meta-data']), { version: '1.1' }) as Record<string, unknown>
        expect(Object.keys(meta)).toEqual(['instance-id', 'local-hostname', 'public-keys'])
        expect(meta['public-keys']).toEqual(field === 'key' ? [value] : plain.authorizedKeys)
        const [config, script] = parts(decode(files['vendor-data']))
        const keys = (parse(config!.body, { version: '1.1' }) as { ssh_keys: Record<string, string> }).ssh_keys
        expect(keys['ed25519_private']).toBe(hostKey.privateKey)
        expect(script!.body.split('\n')).toHaveLength(fleetPayload({ ...plain }).split('\n').length)
        expect(files['user-data']).toEqual(field === 'user-data' ? userData : plain.userData)
        expect(files['network-config']).toEqual(seedDocuments(plain)['network-config'])
      }),
      { seed: 20260101, numRuns: 2000 },
    )
  })
})
