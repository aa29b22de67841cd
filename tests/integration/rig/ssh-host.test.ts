import fs from 'node:fs'
import os from 'node:os'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeHosts } from '../../support/describe-hosts.ts'
import { reapSlots } from '../../support/host-slots.ts'
import { runProgram } from '../../support/run-program.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'

const SSH_OPTIONS = [
  '-F',
  'none',
  '-o',
  'BatchMode=yes',
  '-o',
  'UserKnownHostsFile=/dev/null',
  '-o',
  'ConnectTimeout=2',
]

function ssh(host: SshHost, user: string, command: string, more: string[] = []) {
  const trust = ['-o', 'StrictHostKeyChecking=no', '-o', 'LogLevel=ERROR', '-i', host.clientKeyPath]
  return runProgram('ssh', [...SSH_OPTIONS, ...trust, ...more, `${user}@${host.address}`, command], {
    timeoutMs: 10_000,
  })
}

describeHosts('a test host', {}, () => {
  let host: SshHost
  let tookMs = 0
  beforeAll(async () => {
    const before = performance.now()
    host = await startSshHost({ name: 'rack1' })
    tookMs = performance.now() - before
  }, 20_000)
  afterAll(() => host?.close())

  it('starts in less than three seconds', () => expect(tookMs).toBeLessThan(3000))

  it.each(['root', 'dev', 'ops'])('lets %s in by key', async (user) => {
    const result = await ssh(host, user, 'id -un; hostname')
    expect(result).toMatchObject({ code: 0, stdout: `${user}\nrack1\n` })
  })

  it('has its own processes, hostname, network and files', async () => {
    expect(os.hostname()).not.toBe('rack1')
    expect((await host.must(['sh', '-c', 'echo $PPID'])).trim()).toBe('0')
    expect(await host.must(['ip', '-o', 'addr', 'show', 'dev', 'eth0'])).toContain(host.address)
    await host.must(['sh', '-c', 'mkdir -p /var/lib/eitri/x && touch /opt/only-there /tmp/only-there'])
    expect(host.exists('/opt/only-there')).toBe(true)
    expect(fs.existsSync('/opt/only-there')).toBe(false)
    expect(fs.existsSync('/tmp/only-there')).toBe(false)
    expect(host.exists(import.meta.filename)).toBe(false)
    expect(host.listProcesses().some((p) => p.argv[0]?.includes('sshd'))).toBe(true)
  })

  it('gives sudo to ops with the password and to dev not at all', async () => {
    const sudo = (user: 'dev' | 'ops') =>
      host.exec(['sudo', '-S', '-p', '', 'id', '-u'], { user, input: `${host.passwords[user]}\n` })
    expect(await sudo('ops')).toMatchObject({ code: 0, stdout: '0\n' })
    expect((await sudo('dev')).code).toBe(1)
  })

  it('reaps what is orphaned on it', async () => {
    await host.must(['sh', '-c', 'setsid sh -c "exec -a orphan true" & exit 0'])
    const defunct = await host.must(['sh', '-c', 'ps -eo stat= | grep -c ^Z || true'])
    expect(defunct.trim()).toBe('0')
  })

  it('goes silent when packets are dropped, and comes back', async () => {
    await host.dropPackets(true)
    expect((await ssh(host, 'root', 'true')).stderr).toContain('timed out')
    await host.dropPackets(false)
    expect((await ssh(host, 'root', 'true')).code).toBe(0)
  })

  it('shows another key after its host key is replaced', async () => {
    const shown = async () => {
      const scan = await runProgram('ssh-keyscan', ['-t', 'ed25519', host.address])
      return (await runProgram('ssh-keygen', ['-l', '-f', '-'], { input: scan.stdout })).stdout
    }
    const before = host.hostKeyFingerprint
    expect(await shown()).toContain(before)
    await host.replaceHostKey()
    expect(host.hostKeyFingerprint).not.toBe(before)
    expect(await shown()).toContain(host.hostKeyFingerprint)
  })
})

describeHosts('variants of a test host', {}, () => {
  it('forbids forwarding to sockets, or keys, as the variant says', async () => {
    await using noForward = await startSshHost({ name: 'rack2', variant: 'no-streamlocal' })
    await using passwordOnly = await startSshHost({ name: 'rack3', variant: 'password-only' })
    expect(await noForward.must(['/usr/sbin/sshd', '-T', '-f', '/run/sshd-no-streamlocal.conf'])).toContain(
      'allowstreamlocalforwarding no',
    )
    expect((await ssh(noForward, 'root', 'true')).code).toBe(0)
    expect((await ssh(passwordOnly, 'root', 'true')).stderr).toContain('Permission denied')
  }, 20_000)
})

describeHosts('the end of a test host', {}, () => {
  it('leaves no process, link, mount or file', async () => {
    const host = await startSshHost({ name: 'rack4' })
    const dir = host.clientKeyPath.replace(/\/client_key$/, '')
    await host.must(['sh', '-c', 'setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo'])
    const pids = host.listProcesses().map((p) => p.pid)
    expect(pids.length).toBeGreaterThanOrEqual(3)
    await host.close()
    expect(pids.filter((pid) => fs.existsSync(`/proc/${pid}`))).toEqual([])
    expect(fs.existsSync(`/sys/class/net/${host.interfaceName}`)).toBe(false)
    expect(fs.readFileSync('/proc/self/mounts', 'utf8')).not.toContain(dir)
    expect(fs.existsSync(dir)).toBe(false)
  })

  it('comes by itself when the test process is killed', async () => {
    const support = new URL('../../support/ssh-host.ts', import.meta.url).href
    const script = `import { startSshHost } from ${JSON.stringify(support)}
      const host = await startSshHost({ name: 'rack5' })
      console.log(JSON.stringify({ pids: host.listProcesses().map((p) => p.pid), link: host.interfaceName, key: host.clientKeyPath }))
      process.kill(process.pid, 'SIGKILL')`
    const result = await runProgram(process.execPath, ['--input-type=module', '-e', script])
    const { pids, link, key } = JSON.parse(result.stdout) as { pids: number[]; link: string; key: string }
    expect(pids.length).toBeGreaterThanOrEqual(2)
    await expect.poll(() => pids.filter((pid) => fs.existsSync(`/proc/${pid}`)), { timeout: 5000 }).toEqual([])
    await expect.poll(() => fs.existsSync(`/sys/class/net/${link}`), { timeout: 5000 }).toBe(false)
    reapSlots()
    expect(fs.existsSync(key)).toBe(false)
  })
})
