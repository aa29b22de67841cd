import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { run } from '../../../../src/agent/os/exec.ts'
import { buildIso } from '../../../../src/agent/seed/iso9660.ts'
import { writeSeed } from '../../../../src/agent/seed/seed.ts'
import { metaData, networkConfig, type SeedInput, seedDocuments } from '../../../../src/agent/seed/seed-documents.ts'
import { cloudConfig, fleetScript, vendorData } from '../../../../src/agent/seed/vendor-data.ts'

const input = (change: Partial<SeedInput> = {}): SeedInput => ({
  vmId: 'a'.repeat(32),
  hostname: 'web',
  authorizedKeys: [],
  userData: new Uint8Array(),
  mac: '52:54:00:01:02:03',
  ssh: { userCas: [] },
  ...change,
})
const hostKey = { privateKey: '-----BEGIN\nline two\n-----END\n', certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA' }
const ca = 'ssh-ed25519 AAAACA fleet'

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

/** The files of a flat ISO image, read by following its directory. */
function readIso(image: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const root = image.readUInt32LE(16 * 2048 + 156 + 2) * 2048
  const length = image.readUInt32LE(16 * 2048 + 156 + 10)
  for (let at = root; at < root + length; ) {
    const size = image[at]!
    if (size === 0) {
      at = (Math.floor(at / 2048) + 1) * 2048
      continue
    }
    const name = image.toString('ascii', at + 33, at + 33 + image[at + 32]!)
    const start = image.readUInt32LE(at + 2) * 2048
    if (name.endsWith(';1')) files.set(name.slice(0, -2), image.subarray(start, start + image.readUInt32LE(at + 10)))
    at += size
  }
  return files
}

describe('vendor-data', () => {
  it('is always there, as MIME of a cloud-config and a shell part', () => {
    expect(parts(vendorData({ userCas: [] })).map((p) => p.type)).toEqual(['text/cloud-config', 'text/x-shellscript'])
  })

  it('cloud-init does not grow the disk, and no list key is there for user-data to replace', () => {
    const config = parse(cloudConfig({ userCas: [ca], hostKey })) as Record<string, unknown>
    expect(config).toMatchObject({ growpart: { mode: 'off' } })
    expect(Object.values(config).some(Array.isArray)).toBe(false)
  })

  it('the shell part grows partition 1 online, with one newline to sfdisk', () => {
    expect(fleetScript({ userCas: [] })).toContain(
      "printf ',+\\n' | sfdisk --no-reread --no-tell-kernel -N 1 /dev/vda && partx -u /dev/vda && resize2fs /dev/vda1\n",
    )
  })

  it('steps the clock at any update, and never fails for want of chrony', () => {
    const script = fleetScript({ userCas: [] })
    expect(script).toContain("put /etc/chrony/conf.d/eitri-clock.conf <<'EITRI_EOF'\nmakestep 1 -1\nEITRI_EOF\n")
    expect(script).toContain('systemctl try-restart chrony.service 2>/dev/null || true')
    expect(script.trimEnd()).toMatch(/exit 0$/)
  })

  it('files in the order user CA, sshd, chrony; then grow, sshd, chrony', () => {
    const script = fleetScript({ userCas: [ca, 'ssh-ed25519 TWO'], hostKey })
    const order = [
      'eitri_user_ca.pub <<',
      '10-eitri.conf <<',
      'eitri-clock.conf <<',
      'resize2fs',
      'sshd -t',
      'try-restart',
    ]
    const at = order.map((text) => script.indexOf(text))
    expect(at).toEqual(at.toSorted((a, b) => a - b))
    expect(at).not.toContain(-1)
    expect(script).toContain(`${ca}\nssh-ed25519 TWO\n`)
  })

  it('sshd is reloaded only with a configuration it accepts', () => {
    expect(fleetScript({ userCas: [ca] })).toContain('sshd -t && { systemctl reload sshd')
  })

  it('the host key and its certificate arrive byte for byte', () => {
    const config = parse(cloudConfig({ userCas: [], hostKey })) as { ssh_keys: Record<string, string> }
    expect(config.ssh_keys['ed25519_private']).toBe(hostKey.privateKey)
    expect(config.ssh_keys['ed25519_certificate']?.trim()).toBe(hostKey.certificate)
  })

  it('without SSH material nothing of SSH is in it', () => {
    const all = `${cloudConfig({ userCas: [] })}${fleetScript({ userCas: [] })}`
    for (const trace of ['ssh_keys', 'sshd', 'TrustedUserCAKeys', 'user_ca']) expect(all).not.toContain(trace)
  })

  it('the shell part is a script sh can read', async () => {
    const script = fleetScript({ userCas: [ca], hostKey })
    expect(await run('vmm.ask-tool', '/bin/sh', ['-n', '-c', script], { timeoutMs: 5_000 })).toMatchObject({
      code: 0,
      stderr: '',
    })
  })
})

describe('the seed', () => {
  it('passes user-data on byte for byte', () => {
    const userData = new Uint8Array([0x23, 0x21, 0, 0xff, 0x0a])
    expect(seedDocuments(input({ userData }))['user-data']).toBe(userData)
  })

  it('matches each NIC by MAC, with no second stanza for a single NIC', () => {
    const one = parse(networkConfig(input())) as { ethernets: Record<string, unknown> }
    expect(one.ethernets).toEqual({
      nic0: { match: { macaddress: '52:54:00:01:02:03' }, 'set-name': 'nic0', dhcp4: true, 'dhcp-identifier': 'mac' },
    })
    const two = parse(networkConfig(input({ networkMac: '52:54:00:09:09:09' }))) as { ethernets: object }
    expect(Object.keys(two.ethernets)).toEqual(['nic0', 'nic1'])
  })

  it('names the guest and its first login keys in meta-data', () => {
    const meta = parse(metaData(input({ authorizedKeys: ['ssh-ed25519 AAAA "me" # x'] })))
    expect(meta).toEqual({
      'instance-id': 'a'.repeat(32),
      'local-hostname': 'web',
      'public-keys': ['ssh-ed25519 AAAA "me" # x'],
    })
    expect(metaData(input())).not.toContain('public-keys')
  })

  it.each([
    ['a key of two lines', { authorizedKeys: ['ssh-ed25519 A\nssh-ed25519 B'] }],
    ['a CA that ends the here-document', { ssh: { userCas: ['EITRI_EOF'] } }],
    ['a certificate of two lines', { ssh: { userCas: [], hostKey: { privateKey: 'k', certificate: 'a\nb' } } }],
  ])('%s is refused', (_why, change) => {
    expect(() => seedDocuments(input(change))).toThrow(
      expect.objectContaining({ code: 'input/invalid', disposition: 'permanent' }),
    )
  })

  it('is written whole, for its owner alone, with nothing beside it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'eitri-seed-'))
    try {
      const path = join(dir, 'seed.iso')
      await writeSeed(path, input({ userData: Buffer.from('#cloud-config\n') }), 0)
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      expect(await readdir(dir)).toEqual(['seed.iso'])
      const image = await readFile(path)
      expect(image.toString('ascii', 32808, 32814)).toBe('cidata')
      expect(readIso(image).get('user-data')?.toString()).toBe('#cloud-config\n')
    } finally {
      await rm(dir, { recursive: true })
    }
  })
})

describe('the ISO writer', () => {
  it('gives back every file, empty and large ones too', () => {
    const files = { empty: new Uint8Array(), small: Buffer.from('x'), large: Buffer.alloc(5000, 7) }
    const read = readIso(Buffer.from(buildIso('cidata', files, new Date(0))))
    expect(Object.fromEntries([...read].map(([name, data]) => [name, data.length]))).toEqual({
      empty: 0,
      small: 1,
      large: 5000,
    })
    expect(read.get('large')).toEqual(files.large)
  })

  it('keeps directory records whole across sectors', () => {
    const files = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`file-${i}`, Buffer.from(`${i}`)]))
    const read = readIso(Buffer.from(buildIso('many', files, new Date(0))))
    expect(read.size).toBe(120)
    expect(read.get('file-119')?.toString()).toBe('119')
  })
})
