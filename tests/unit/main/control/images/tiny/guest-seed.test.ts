import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const ASSETS = join(import.meta.dirname, '../../../../../../assets/tiny')
const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path)) ?? ''
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGx5 dana@laptop'
const OTHER = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHh6 sam@desk'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-seed-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** Runs the guest's own reader with busybox's sh and awk, as in the guest. */
function readSeed(files: Record<string, string>): (name: string) => string | undefined {
  const bin = join(dir, 'bin')
  const seed = join(dir, 'seed')
  mkdirSync(bin)
  mkdirSync(seed)
  for (const name of ['sh', 'awk', 'base64', 'chmod', 'cp', 'mkdir', 'mv', 'tr']) symlinkSync(BUSYBOX, join(bin, name))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(seed, name), content)
  execFileSync(BUSYBOX, ['sh', join(ASSETS, 'seed'), join(dir, 'out'), seed], { env: { PATH: bin } })
  return (name) => {
    const file = join(dir, 'out', name)
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }
}

const base64 = (text: string) => Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\n')
const multipart = (...parts: [type: string, text: string][]) =>
  [
    'Content-Type: multipart/mixed; boundary="eitri-seed"',
    'MIME-Version: 1.0',
    '',
    ...parts.flatMap(([type, text]) => [
      '--eitri-seed',
      `Content-Type: ${type}; charset="utf-8"`,
      'Content-Transfer-Encoding: base64',
      '',
      base64(text),
    ]),
    '--eitri-seed--',
    '',
  ].join('\n')

describe.skipIf(!existsSync('/bin/busybox'))(
  'tiny guest seed (busybox runs the guest scripts; skipped without it)',
  () => {
    it('takes hostname and login keys from meta-data', () => {
      const out = readSeed({
        'meta-data': `instance-id: i-1\nlocal-hostname: web-1\npublic-keys:\n  - "${KEY}"\n  - ${OTHER}\n`,
      })
      expect(out('hostname')).toBe('web-1\n')
      expect(out('authorized_keys')).toBe(`${KEY}\n${OTHER}\n`)
      expect(out('ignored')).toBeUndefined()
    })

    it('takes host key, certificate and script out of the fleet’s MIME parts, byte for byte', () => {
      const key =
        '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nabc=\n-----END OPENSSH PRIVATE KEY-----\n'
      const config = `#cloud-config\nhostname: db-1\ngrowpart:\n  mode: off\nssh_keys:\n  ed25519_private: |\n${key.replaceAll(/^(?=.)/gm, '    ')}  ed25519_certificate: "ssh-ed25519-cert-v01@openssh.com AAAA host"\n`
      const script = "#!/bin/sh\necho 'one  two' > /run/x\n# \\n stays\n"
      const out = readSeed({
        'meta-data': 'local-hostname: meta\n',
        'vendor-data': multipart(['text/cloud-config', config], ['text/x-shellscript', script]),
      })
      expect(out('hostname')).toBe('db-1\n')
      expect(out('host_key')).toBe(key)
      expect(out('host_key-cert.pub')).toBe('ssh-ed25519-cert-v01@openssh.com AAAA host\n')
      expect(out('vendor.scripts')).toMatch(/vendor\.2\n$/)
      expect(out('vendor.2')).toBe(script)
      expect(out('ignored')).toContain('vendor: growpart is not understood')
    })

    it('takes a user script as it is', () => {
      const out = readSeed({ 'user-data': '#!/bin/sh\necho hi\n' })
      expect(out('user.0')).toBe('#!/bin/sh\necho hi\n')
      expect(out('user.scripts')).toMatch(/user\.0\n$/)
    })

    it('turns runcmd lists of every common form into one script', () => {
      const out = readSeed({
        'user-data': `#cloud-config
runcmd:
  - echo plain # a comment
  - "echo \\"quoted\\" \\\\ back"
  - 'it''s single'
  - [ sh, -c, "echo 'a b' $HOME", 'c,d' ]
  - |
    for i in 1 2; do
      echo $i
    done
  - key: value stays a command
ssh_authorized_keys:
- ${KEY}
`,
      })
      expect(out('user.runcmd')).toBe(
        [
          'echo plain',
          'echo "quoted" \\ back',
          "it's single",
          `'sh' '-c' 'echo '\\''a b'\\'' $HOME' 'c,d'`,
          'for i in 1 2; do',
          '  echo $i',
          'done',
          'key: value stays a command',
          '',
        ].join('\n'),
      )
      expect(out('authorized_keys')).toBe(`${KEY}\n`)
    })

    it('takes keys of a users list for root and refuses what is no key', () => {
      const out = readSeed({
        'user-data': `#cloud-config\nusers:\n  - name: dana\n    ssh_authorized_keys:\n      - ${KEY}\n      - $(reboot)\n`,
      })
      expect(out('authorized_keys')).toBe(`${KEY}\n`)
    })

    it('keeps a hostile hostname a plain word of data', () => {
      const out = readSeed({ 'meta-data': 'local-hostname: "$(touch /tmp/pwned)"\n' })
      expect(out('hostname')).toBe('$(touch /tmp/pwned)\n')
    })

    it('survives files that are empty, cut short or of a kind it does not know', () => {
      const out = readSeed({
        'meta-data': '',
        'vendor-data': 'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent',
        'user-data': 'H4sIAAAA',
      })
      expect(out('authorized_keys')).toBeUndefined()
    })
  },
)
