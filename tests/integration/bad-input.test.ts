import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Census, type CensusPlaces, diffCensus, takeCensus } from '../support/census.ts'
import { describeHosts } from '../support/describe-hosts.ts'
import { type CliResult, Desktop } from '../support/eitri.ts'
import { addArguments, addHost, agentsOf, tryAddHost } from '../support/fleet.ts'
import { type SshHost, startSshHost } from '../support/ssh-host.ts'

const WRONG_FINGERPRINT = `SHA256:${'A'.repeat(43)}`
const WRONG_SHA256 = createHash('sha256').update('other bytes').digest('hex')
/** Tables that say what was tried. */
const HISTORY = /^rows (audit|tasks|task_steps|sent_snapshots) \+/
/** Written by sshd and by logins themselves. */
const NOISE = /^file host:(\/run\/(sshd\.log|utmp|faillock|sudo|motd|lock)|\/home\/dev\/\.(cache|bash))/

/** A clear sentence on one line and nothing on stdout. */
function expectSentence(result: CliResult, code: number, words: RegExp) {
  expect({ code: result.code, stderr: result.stderr }).toEqual({ code, stderr: expect.stringMatching(words) })
  expect(result.stdout).toBe('')
  expect(result.stderr.trim().split('\n')).toHaveLength(1)
  expect(result.stderr).not.toMatch(/ {4}at |Error:|undefined|\[object/)
}

describeHosts('bad input', { timeout: 60_000 }, () => {
  let host: SshHost
  let desktop: Desktop
  let places: CensusPlaces
  let before: Census

  const nothingLeft = () => {
    const left = diffCensus(before, takeCensus(places)).filter((line) => !HISTORY.test(line) && !NOISE.test(line))
    expect(left).toEqual([])
  }

  beforeAll(async () => {
    host = await startSshHost({ name: 'rack1' })
    desktop = await new Desktop().start()
    places = { desktop, host, stateDir: '/var/lib/eitri' }
  }, 30_000)
  afterAll(async () => {
    await desktop?.close()
    await host?.close()
  }, 30_000)
  beforeEach(() => {
    before = takeCensus(places)
  })

  describe('when a host is added', () => {
    const at = (user: string) => ['rack1', '--ssh', `${user}@${host.address}`]
    const accept = () => ['--accept-host-key', host.hostKeyFingerprint]
    const key = () => ['--identity', host.clientKeyPath]

    it('refuses a host key nobody accepted', async () => {
      const result = await tryAddHost(desktop, [...at('root'), ...key()])
      expectSentence(result, 1, /host key nobody here has accepted: SHA256:/)
      expect(result.stderr).toContain(host.hostKeyFingerprint)
      nothingLeft()
    })

    it('refuses another host key than the accepted one', async () => {
      const result = await tryAddHost(desktop, [...at('root'), ...key(), '--accept-host-key', WRONG_FINGERPRINT])
      expectSentence(result, 1, /host key/)
      expect(result.stderr).toContain(host.hostKeyFingerprint)
      nothingLeft()
    })

    it('says that a password is wrong', async () => {
      await using other = await startSshHost({ name: 'rack2', variant: 'password-only' })
      const way = ['rack2', '--ssh', `dev@${other.address}`, '--accept-host-key', other.hostKeyFingerprint]
      const result = await tryAddHost(desktop, [...way, '--password-stdin'], { input: 'not-the-password\n' })
      expectSentence(result, 1, /refused the sign-in/)
      expect(result.stderr).not.toContain('not-the-password')
      nothingLeft()
      expect(other.exists('/home/dev/.local')).toBe(false)
    })

    it('says that a key is refused', async () => {
      await using other = await startSshHost({ name: 'rack2', variant: 'password-only' })
      const way = ['rack2', '--ssh', `dev@${other.address}`, '--accept-host-key', other.hostKeyFingerprint]
      expectSentence(await tryAddHost(desktop, [...way, ...key()]), 1, /refused the sign-in|password/)
      nothingLeft()
    })

    it('says that nothing listens on the port', async () => {
      const result = await tryAddHost(desktop, ['rack1', '--ssh', `root@${host.address}:2`, ...key(), ...accept()])
      expectSentence(result, 1, /No answer from .*:2/)
      nothingLeft()
    })

    it('says that a silent host does not answer', async () => {
      await host.dropPackets(true)
      try {
        expectSentence(await tryAddHost(desktop, [...at('root'), ...key(), ...accept()]), 1, /No answer from/)
      } finally {
        await host.dropPackets(false)
      }
      nothingLeft()
    })

    it('names the missing hypervisor and the command that installs it', async () => {
      await using bare = await startSshHost({ name: 'rack3' })
      await bare.must(['sh', '-c', 'rm -f /usr/bin/qemu-system-* /usr/bin/qemu-img'])
      const result = await desktop.cli(addArguments(bare), { timeoutMs: 60_000 })
      expectSentence(result, 3, /qemu/i)
      expect(result.stderr).toContain('apt-get install')
      nothingLeft()
      expect(agentsOf(bare)).toEqual([])
      for (const file of ['/usr/local/lib/eitri', '/var/lib/eitri', '/run/eitri'])
        expect(await bare.must(['sh', '-c', `ls -A ${file} 2>/dev/null || true`])).toBe('')
    })

    it.each([
      ['an option', '-oProxyCommand=id'],
      ['a command', '$(id)'],
      ['nothing', ''],
    ])('refuses an address that is %s', async (_, address) => {
      expectSentence(await tryAddHost(desktop, ['rack1', `--ssh=${address}`]), 2, /host/)
      nothingLeft()
    })
  })

  describe('when a VM is created', () => {
    let server: http.Server
    let base = ''

    beforeAll(async () => {
      await addHost(desktop, host)
      await desktop.buildTiny()
      server = http.createServer((_, response) => response.end('not what the digest says'))
      server.listen(0, host.gateway)
      await once(server, 'listening')
      base = `http://${host.gateway}:${(server.address() as AddressInfo).port}`
    }, 240_000)
    afterAll(() => {
      server?.close()
      server?.closeAllConnections()
    })

    it.each([
      ['an option', ['--', '-rf']],
      ['a command', ['$(id)']],
      ['of 64 characters', ['a'.repeat(64)]],
      ['in capitals', ['Web1']],
    ])('refuses a name that is %s', async (_, args) => {
      expectSentence(await desktop.cli(['vm', 'create', ...args]), 2, /name .*is not valid/)
      expect((await desktop.must(['vm', 'list'])).vms).toEqual([])
      nothingLeft()
    })

    it('takes an unquoted -rf for an option it does not know', async () => {
      expectSentence(await desktop.cli(['vm', 'create', '-rf']), 2, /-r/)
      nothingLeft()
    })

    it.each([
      ['no CPU', ['--vcpus', '0'], /vcpus/],
      ['no memory', ['--mem-mb', '-1'], /mem/],
      ['a digest that is none', ['--image-url', 'http://10.77.0.1/x', '--image-sha256', 'abc'], /64 lower-case hex/],
      ['a URL without its digest', ['--image-url', 'http://10.77.0.1/x'], /--image-sha256/],
    ])('refuses %s', async (_, args, words) => {
      expectSentence(await desktop.cli(['vm', 'create', 'web1', ...args]), 2, words)
      nothingLeft()
    })

    it('refuses hosts and images that are not there', async () => {
      expectSentence(await desktop.cli(['vm', 'create', 'web1', '--host', 'nowhere']), 1, /no host nowhere/)
      expectSentence(await desktop.cli(['vm', 'create', 'web1', '--image', 'nothing']), 1, /no image nothing/)
      nothingLeft()
    })

    it('throws bytes away that do not match their digest, and says so', async () => {
      const image = ['--image-url', `${base}/disk.img`, '--image-sha256', WRONG_SHA256]
      const made = ['vm', 'create', 'bad1', ...image, '--wait', 'ready', '--timeout', '30s']
      expectSentence(await desktop.cli(made, { timeoutMs: 40_000 }), 1, /do not match its SHA-256/)
      expect(await desktop.must(['vm', 'show', 'bad1'])).toMatchObject({
        lifecycle: 'failed',
        reason: 'image/digest-mismatch',
      })
      const { id } = await desktop.must(['vm', 'delete', 'bad1'])
      await desktop.must(['vm', 'purge', id, '--yes', '--wait'])
      await expect.poll(() => host.exists(`/var/lib/eitri/images/${WRONG_SHA256}`), { timeout: 10_000 }).toBe(false)
      nothingLeft()
    })

    it('refuses a second VM and a second host of one name', async () => {
      await desktop.must(['vm', 'create', 'web1', '--power', 'stopped', '--wait', 'stopped'])
      before = takeCensus(places)
      expectSentence(await desktop.cli(['vm', 'create', 'web1']), 1, /name already in use: web1/)
      expectSentence(await desktop.cli(addArguments(host), { timeoutMs: 60_000 }), 1, /rack1 is already here/)
      nothingLeft()
    })
  })
})
