import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { measureGuest } from '../../src/agent/clock/guest-time.ts'
import { GuestAgent } from '../../src/agent/guest/guest-agent.ts'
import { generateHostKey } from '../../src/agent/seed/host-key.ts'
import { buildIso } from '../../src/agent/seed/iso9660.ts'
import { seedDocuments } from '../../src/agent/seed/seed-documents.ts'
import { systemClock } from '../../src/ipc/base/clock.ts'
import { buildTiny } from '../../src/main/control/images/tiny/build-tiny.ts'
import { BareGuest, CHANNEL } from '../support/bare-guest.ts'
import { runProgram } from '../support/run-program.ts'
import { silentStep } from '../support/silent-step.ts'
import { tinyImageFile } from '../support/tiny-image.ts'

const PROMPT = /web-1:~# /
let dir: string
let sshPort: number
const at = (name: string) => join(dir, name)
const boot = (disk = 'disk.qcow2') => new BareGuest({ dir, disk, seed: 'seed.iso', sshPort })

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

function writeSeedIso(): void {
  const keygen = (...args: string[]) => execFileSync('ssh-keygen', ['-q', ...args], { cwd: dir })
  for (const name of ['host_ca', 'user_ca', 'login', 'by_ca']) keygen('-t', 'ed25519', '-N', '', '-C', name, '-f', name)
  const hostKey = generateHostKey('web-1')
  writeFileSync(at('host.pub'), `${hostKey.publicKey}\n`)
  keygen('-s', 'host_ca', '-h', '-I', 'web-1', '-n', 'web-1', 'host.pub')
  keygen('-s', 'user_ca', '-I', 'dana', '-n', 'root', 'by_ca.pub')
  const text = (name: string) => readFileSync(at(name), 'utf8').trim()
  const files = seedDocuments({
    vmId: 'a'.repeat(32),
    hostname: 'web-1',
    authorizedKeys: [text('login.pub')],
    userData: Buffer.from('#cloud-config\nruncmd:\n  - echo "user $((6*7))" > /run/user-ran\n'),
    mac: '52:54:00:12:34:56',
    clock: 'auto',
    ssh: {
      userCas: [text('user_ca.pub')],
      hostKey: { privateKey: hostKey.privateKey, certificate: text('host-cert.pub') },
    },
  })
  writeFileSync(at('seed.iso'), buildIso('cidata', files, new Date()))
  writeFileSync(at('known'), `@cert-authority web-1 ${text('host_ca.pub')}\n`)
}

/** Logs in with a key, knowing only the host CA. */
async function ssh(key: string, command: string): Promise<string> {
  const strict = [
    'StrictHostKeyChecking=yes',
    'HostKeyAlias=web-1',
    `UserKnownHostsFile=${at('known')}`,
    'IdentitiesOnly=yes',
  ]
  const options = ['-F', 'none', '-p', String(sshPort), '-i', at(key), ...strict.flatMap((option) => ['-o', option])]
  const { code, stdout, stderr } = await runProgram('ssh', [...options, 'root@127.0.0.1', command], {
    env: process.env,
  })
  if (code !== 0) throw new Error(stderr)
  return stdout
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-tiny-'))
  execFileSync('tar', ['-xf', await tinyImageFile(), '-C', dir])
  execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', at('disk.qcow2'), '1G'])
  sshPort = await freePort()
  writeSeedIso()
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe('tiny guest', { timeout: 400_000 }, () => {
  it('boots in 96 MB to a root shell, takes the fleet’s seed, and keeps /data over a power-off', async () => {
    {
      await using guest = boot()
      expect(await guest.until(PROMPT)).toContain('tiny guest web-1 ready')
      expect(await guest.command('echo $((6*7))-ok; id -u; tty')).toBe('42-ok\n0\n/dev/ttyS0')
      await guest.until(/TINY-NET 10\.0\.2\.15/)
      expect(await guest.command('grep -c " /data ext2 " /proc/mounts; echo kept > /data/note')).toBe('1')
      // sshd and the user's part come a little after the prompt
      await guest.command('until netstat -ltn | grep -q ":22 " && [ -e /run/user-ran ]; do sleep 1; done')
      expect(await ssh('login', 'hostname; cat /run/user-ran')).toBe('web-1\nuser 42\n')
      expect(await ssh('by_ca', 'cat /data/note')).toBe('kept\n')
      await guest.powerOff()
    }
    await using guest = boot()
    await guest.until(PROMPT)
    expect(await guest.command('cat /data/note')).toBe('kept')
    await guest.command('reboot')
    await guest.until(/tiny guest web-1 ready[\s\S]*web-1:~# /, guest.end)
    expect(await guest.command('cat /data/note')).toBe('kept')
  })

  it('tells its time to the host, is set to the host’s to some milliseconds, and runs programs for it', async () => {
    await using guest = boot()
    await guest.until(PROMPT)
    await guest.command('until [ -d /run/guest-agent ]; do sleep 1; done')
    const agent = new GuestAgent({ connect: async () => connect(at(CHANNEL)) })
    try {
      const off = async () => (await measureGuest(agent, systemClock)).offsetUs / 1000
      expect(await agent.version()).toBe('tiny')
      expect(Math.abs(await off())).toBeLessThan(1_500)
      await guest.command('date -s @$(($(date +%s) - 3600))')
      expect(await off()).toBeLessThan(-3_598_000)
      await agent.execute('guest-set-time', { time: Date.now() * 1e6 })
      expect(Math.abs(await off())).toBeLessThan(150)

      expect(await agent.exec('cat', ['/etc/hostname', '/none'])).toEqual({
        code: 1,
        stdout: 'web-1\n',
        stderr: "cat: can't open '/none': No such file or directory\n",
      })
      expect(await agent.script('read -r line; echo "said $line $((6*7))"; exit 3\nspoken\n')).toMatchObject({
        code: 3,
      })
      await expect(agent.exec('chronyc', ['tracking'])).rejects.toThrow(/chronyc.*No such file/)
      await expect(agent.execute('guest-file-open')).rejects.toThrow('The command guest-file-open has not been found')
    } finally {
      agent.close()
    }
    const again = new GuestAgent({ connect: async () => connect(at(CHANNEL)) })
    expect((await again.exec('hostname', [])).stdout).toBe('web-1\n')
    again.close()
  })

  it('never formats a disk that holds something', async () => {
    const disk = at('foreign.qcow2')
    const raw = at('foreign.raw')
    execFileSync('truncate', ['-s', '64M', raw])
    writeSync(openSync(raw, 'r+'), 'somebody’s data', 700_000)
    execFileSync('qemu-img', ['convert', '-O', 'qcow2', raw, disk])
    await using guest = boot('foreign.qcow2')
    expect(await guest.until(PROMPT)).toContain('left alone')
    expect(await guest.command('grep -c " /data " /proc/mounts')).toBe('0')
    expect(await guest.command('dd if=/dev/vda bs=1 skip=700000 count=8 2>/dev/null')).toBe('somebody')
  })
})

describe('tiny image build', () => {
  it('stops at an abort and leaves nothing in the work folder', async () => {
    const workDir = at('work')
    mkdirSync(workDir)
    const abort = new AbortController()
    const build = buildTiny({
      workDir,
      cacheDir: join(import.meta.dirname, '../../out/cache/tiny/packages'),
      signal: abort.signal,
      step: (name, run) => {
        if (name === 'Extract kernel') abort.abort(new DOMException('cancelled', 'AbortError'))
        return run(silentStep)
      },
    })
    await expect(build).rejects.toMatchObject({ name: 'AbortError' })
    expect(execFileSync('ls', ['-A', workDir], { encoding: 'utf8' })).toBe('')
    expect(existsSync(workDir)).toBe(true)
  })
})
