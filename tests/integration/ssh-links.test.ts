import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ConsoleViewer } from '../support/console-client.ts'
import { describeHosts } from '../support/describe-hosts.ts'
import { Desktop } from '../support/eitri.ts'
import { addHost, linkOf, tryAddHost } from '../support/fleet.ts'
import { type SshHost, startSshHost } from '../support/ssh-host.ts'

const LOAD_BYTES = 64 * 1024 * 1024
/** RekeyLimit of the variant. */
const REKEY_BYTES = 16 * 1024 * 1024
const NOTICED_MS = 15_000

/** Ends every SSH session of the host, as its reboot would; its listener stays. */
function endSessions(host: SshHost) {
  const sessions = host.listProcesses().filter(({ argv }) => /^sshd: (?!.*\[listener\])/.test(argv[0] ?? ''))
  for (const { pid } of sessions) process.kill(pid, 'SIGKILL')
}

describeHosts('an SSH link with a VM behind it', { timeout: 90_000 }, () => {
  let host: SshHost
  let desktop: Desktop
  let viewer: ConsoleViewer
  let log = ''

  beforeAll(async () => {
    host = await startSshHost({ name: 'rack1', variant: 'rekey' })
    desktop = await new Desktop().start()
    await addHost(desktop, host)
    await desktop.buildTiny()
    await desktop.must(['vm', 'create', 'web1', '--wait', 'ready'], { timeoutMs: 120_000 })
    viewer = new ConsoleViewer(() => desktop.apiSocket, 'web1')
    await viewer.waitFor('web1:~# ', 90_000)
    log = (await host.must(['find', '/var/lib/eitri', '-name', 'serial.log'])).trim()
  }, 300_000)
  afterAll(async () => {
    await viewer?.close()
    await desktop?.close()
    await host?.close()
  }, 30_000)

  it('carries a console through rekeys under load without losing or changing a byte', async () => {
    const rekeys = () => fs.readFileSync(host.outside('/run/sshd.log'), 'latin1').split('set_newkeys: rekeying').length
    const before = rekeys()
    const poured = host.must(['sh', '-c', `head -c ${LOAD_BYTES} /dev/urandom >>${log}`])
    const typing = setInterval(() => viewer.type('\n'), 200)
    await poured
    await viewer.waitForOffset(BigInt(fs.statSync(host.outside(log)).size), 60_000)
    clearInterval(typing)
    expect(rekeys() - before).toBeGreaterThanOrEqual(Math.floor(LOAD_BYTES / REKEY_BYTES) - 1)
    const seen = viewer.digest()
    const kept = fs.readFileSync(host.outside(log)).subarray(0, Number(seen.end))
    expect(createHash('sha256').update(kept).digest('hex')).toBe(seen.sha256)
    expect(viewer.faults).toEqual([])
    expect(viewer.links).not.toContain('reconnecting')
  })

  it('notices a half-open link within 15 s, shows unknown as unknown, and heals', async () => {
    const links = viewer.links.length
    await host.dropPackets(true)
    const droppedAt = performance.now()
    await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 25_000, interval: 250 }).not.toBe('connected')
    expect(performance.now() - droppedAt).toBeLessThan(NOTICED_MS + 1000)
    expect(await desktop.must(['vm', 'show', 'web1'])).toMatchObject({ host_unknown: true, power: 'running' })
    await viewer.waitForLink('reconnecting', 10_000, links)
    await host.dropPackets(false)
    await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 60_000, interval: 500 }).toBe('connected')
    await viewer.waitForLink('live', 20_000, links)
    const from = viewer.text.length
    viewer.type('\necho back-$((2*3))\n')
    await viewer.waitFor(/back-6/, 20_000, from)
    expect(viewer.digest().start).toBe(0n)
    expect(viewer.faults).toEqual([])
  })

  it('refuses a changed host key: it does not sign in and says so', async () => {
    const known = host.hostKeyFingerprint
    await host.replaceHostKey()
    fs.truncateSync(host.outside('/run/sshd.log'))
    endSessions(host)
    await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 40_000, interval: 500 }).toBe('key_changed')
    const shown = await desktop.must(['host', 'show', 'rack1'])
    expect(shown.link_fault).toMatchObject({ code: 'ssh/host-key-changed' })
    expect(shown.link_fault.params).toMatchObject({ fingerprint: host.hostKeyFingerprint, known })
    expect(fs.readFileSync(host.outside('/run/sshd.log'), 'latin1')).not.toMatch(/Accepted (publickey|password)/)
    const again = await tryAddHost(desktop, [
      'rack2',
      '--ssh',
      `root@${host.address}`,
      '--identity',
      host.clientKeyPath,
    ])
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('different host key')
    expect(again.stderr.trim().split('\n')).toHaveLength(1)
    expect((await desktop.must(['host', 'list'])).hosts).toHaveLength(1)
  })

  it('takes the new key from a person by its fingerprint, and goes on with the same VM', async () => {
    const guess = await desktop.cli(['host', 'accept-key', 'rack1', `SHA256:${'A'.repeat(43)}`])
    expect(guess).toMatchObject({ code: 2 })
    expect(guess.stderr).toContain(host.hostKeyFingerprint)
    await desktop.must(['host', 'accept-key', 'rack1', host.hostKeyFingerprint])
    await expect.poll(() => linkOf(desktop, 'rack1'), { timeout: 20_000, interval: 250 }).toBe('connected')
    expect(await desktop.must(['host', 'show', 'rack1'])).toMatchObject({
      host_key_fingerprint: host.hostKeyFingerprint,
      acceleration: expect.stringMatching(/^(kvm|tcg)$/),
    })
    expect(await desktop.must(['vm', 'show', 'web1'])).toMatchObject({ power: 'running', host_unknown: false })
  })
})
