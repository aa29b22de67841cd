import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { buildIso } from '../../../../src/agent/seed/iso9660.ts'
import { writeSeed } from '../../../../src/agent/seed/seed.ts'
import { metaData, networkConfig, type SeedInput, seedDocuments } from '../../../../src/agent/seed/seed-documents.ts'

const input = (change: Partial<SeedInput> = {}): SeedInput => ({
  vmId: 'a'.repeat(32),
  hostname: 'web',
  authorizedKeys: [],
  userData: new Uint8Array(),
  mac: '52:54:00:01:02:03',
  ssh: { userCas: [] },
  clock: 'auto',
  ...change,
})
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

describe('the seed', () => {
  it('passes user-data on byte for byte', () => {
    const userData = new Uint8Array([0x23, 0x21, 0, 0xff, 0x0a])
    expect(seedDocuments(input({ userData }))['user-data']).toBe(userData)
  })

  const ONE_NIC = `version: 2
ethernets:
  nic0:
    match:
      macaddress: "52:54:00:01:02:03"
    set-name: nic0
    dhcp4: true
    dhcp-identifier: mac
`

  it('matches the one NIC by its MAC, to the byte as guests have had it', () => {
    expect(networkConfig(input())).toBe(ONE_NIC)
  })

  it('has a second stanza only for a VM on a network of the operator, whose way out stays the first', () => {
    expect(networkConfig(input({ networkMac: '52:54:00:09:09:09' }))).toBe(`${ONE_NIC}  nic1:
    match:
      macaddress: "52:54:00:09:09:09"
    set-name: nic1
    dhcp4: true
    dhcp-identifier: mac
    dhcp4-overrides:
      route-metric: 2048
`)
  })

  it('names the guest and its first login keys in meta-data', () => {
    const meta = parse(metaData(input({ authorizedKeys: ['ssh-ed25519 AAAA "me" # x'] })))
    expect(meta).toEqual({
      'instance-id': 'a'.repeat(32),
      'local-hostname': 'web',
      'public-keys': ['ssh-ed25519 AAAA "me" # x'],
    })
    expect(metaData(input())).toBe(`instance-id: "${'a'.repeat(32)}"\nlocal-hostname: "web"\n`)
  })

  it.each(['on', 'no', 'null', '123', '1e3', '0x10'])('a guest may be called %s', (hostname) => {
    const meta = parse(metaData(input({ hostname })), { version: '1.1' }) as Record<string, unknown>
    expect(meta['local-hostname']).toBe(hostname)
  })

  it.each([
    ['a key of two lines', { authorizedKeys: ['ssh-ed25519 A\nssh-ed25519 B'] }],
    ['a CA that ends the here-document', { ssh: { userCas: ['EITRI_EOF'] } }],
    ['a key with a line break of Unicode', { authorizedKeys: ['ssh-ed25519 A x\u2028- evil'] }],
    ['a key no YAML reader takes', { authorizedKeys: ['ssh-ed25519 A \ufffe'] }],
    ['a name that is no host name', { hostname: 'web\nusers: []' }],
    ['an id that is no id', { vmId: '$(reboot)' }],
    ['a MAC that is no MAC', { networkMac: '52:54:00:09:09:09"\n' }],
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
