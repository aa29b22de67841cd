import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { HostAccess } from '../../../../src/agent/install/host-access.ts'
import { type InstallFlags, install } from '../../../../src/agent/install/install.ts'
import { readInstall } from '../../../../src/agent/install/install-record.ts'
import { uninstall } from '../../../../src/agent/install/uninstall.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-install-'))
  mkdirSync(join(dir, 'etc'))
  mkdirSync(join(dir, 'home'))
  writeFileSync(join(dir, 'etc/group'), 'root:x:0:\n')
  writeFileSync(join(dir, 'agent.cjs'), 'the bundle')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** A host below `dir` whose programs do what `programs` says; the others are not installed. */
class FakeHost implements HostAccess {
  readonly ran: string[] = []
  login: HostAccess['login']
  init: HostAccess['init'] = 'none'
  readonly prefix = dir
  crontab = ''
  cron = false
  readonly programs: Record<string, (args: readonly string[]) => number | string> = {}

  constructor(uid: number) {
    this.login = { uid, name: uid === 0 ? 'root' : 'bob', home: join(dir, 'home') }
    this.programs['groupadd'] = () => {
      writeFileSync(join(dir, 'etc/group'), 'root:x:0:\neitri:x:990:\n')
      return 0
    }
    this.programs['usermod'] = () => 0
    this.programs['groupdel'] = () => 0
    this.programs['systemctl'] = () => 0
    this.programs['loginctl'] = (args) => (args[0] === 'show-user' ? 'yes\n' : 0)
    this.programs['crontab'] = ([file]) => {
      if (file === '-l') return this.crontab
      this.crontab = readFileSync(file!, 'utf8')
      return 0
    }
  }
  run: HostAccess['run'] = async (_point, program, args) => {
    this.ran.push([program, ...args].join(' '))
    const act = this.programs[program]
    if (!act) throw Object.assign(new Error(`spawn ${program} ENOENT`), { code: 'ENOENT' })
    const answer = act(args)
    const [code, stdout] = typeof answer === 'string' ? [0, answer] : [answer, '']
    return { code, stdout, stderr: code === 0 ? '' : 'no\npermission denied\n', timedOut: false }
  }
  find = async (program: string) => (this.programs[program] ? `/usr/bin/${program}` : undefined)
  cronRuns = async () => this.cron
}

const put = (host: FakeHost, flags: InstallFlags = {}, version = '1.2.3') =>
  install({
    ...flags,
    host,
    program: { kind: 'bundle', file: join(dir, 'agent.cjs'), node: '/opt/node' },
    version,
    digest: 'd'.repeat(64),
  })

describe('installing an agent', () => {
  it('for root under systemd: versioned program, link, unit, group and what it says of itself', async () => {
    const host = new FakeHost(0)
    host.init = 'systemd'
    const found = await put(host, { steerUser: ['alice', 'root'] })
    expect(found).toMatchObject({
      state_dir: join(dir, 'var/lib/eitri'),
      socket: join(dir, 'run/eitri/agent.sock'),
      executable: join(dir, 'usr/local/bin/eitri-agent'),
      started_by: 'systemd',
      runs_as: 'root',
      group: 'eitri',
      running: false,
      warnings: [],
    })
    expect(readlinkSync(found.executable)).toBe(join(dir, 'usr/local/lib/eitri/1.2.3/eitri-agent'))
    expect(readFileSync(found.executable, 'utf8')).toContain(
      `exec '/opt/node' '${dir}/usr/local/lib/eitri/1.2.3/agent.cjs'`,
    )
    expect(statSync(found.executable).mode & 0o777).toBe(0o755)
    expect(statSync(found.state_dir).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(dir, 'etc/systemd/system/eitri-agent.service'), 'utf8')).toContain('KillMode=process')
    expect(host.ran).toEqual([
      'groupadd --system eitri',
      'usermod -aG eitri alice',
      'systemctl daemon-reload',
      'systemctl enable eitri-agent.service',
    ])
    expect(await readInstall(found.state_dir)).toMatchObject({ started_by: 'systemd', version: '1.2.3' })
  })

  it('again with another version swaps only the link and keeps one unit', async () => {
    const host = new FakeHost(0)
    host.init = 'systemd'
    await put(host)
    host.ran.length = 0
    const found = await put(host, {}, '1.3.0')
    expect(readlinkSync(found.executable)).toBe(join(dir, 'usr/local/lib/eitri/1.3.0/eitri-agent'))
    expect(existsSync(join(dir, 'usr/local/lib/eitri/1.2.3/eitri-agent'))).toBe(true)
    expect(host.ran).not.toContain('groupadd --system eitri')
  })

  it('a login whose manager may not linger falls back to cron and says why', async () => {
    const host = new FakeHost(1000)
    host.init = 'systemd'
    host.cron = true
    host.crontab = '0 1 * * * mine\n'
    host.programs['loginctl'] = (args) => (args[0] === 'show-user' ? 'no\n' : 1)
    const found = await put(host)
    expect(found.started_by).toBe('cron')
    expect(found.group).toBe('')
    expect(found.warnings).toEqual(['systemd-user cannot be used: loginctl enable-linger bob: permission denied'])
    expect(host.crontab).toMatch(/^0 1 \* \* \* mine\n@reboot .*eitri-agent start --state-dir .* # eitri-agent\n$/)
  })

  it('where nothing starts it again it says that the app does', async () => {
    const found = await put(new FakeHost(1000))
    expect(found.started_by).toBe('app')
    expect(found.warnings).toEqual(['Nothing on this host starts the agent again after a reboot; the app does.'])
  })

  it('that fails leaves nothing behind, in words', async () => {
    const host = new FakeHost(0)
    host.programs['usermod'] = () => 6
    await expect(put(host, { steerUser: ['ghost'] })).rejects.toMatchObject({
      code: 'agent/install-failed',
      params: { message: 'ghost could not be added to the group eitri' },
    })
    expect(existsSync(join(dir, 'usr/local/lib/eitri'))).toBe(false)
    expect(lstatSync(join(dir, 'usr/local/bin/eitri-agent'), { throwIfNoEntry: false })).toBeUndefined()
    expect(existsSync(join(dir, 'var/lib/eitri'))).toBe(false)
    expect(host.ran.at(-1)).toBe('groupdel eitri')
  })

  it.each(['-rf', '$(id)', 'a b', ''])('takes no login named %j into a command', async (login) => {
    const host = new FakeHost(0)
    await expect(put(host, { steerUser: [login] })).rejects.toMatchObject({ code: 'agent/install-failed' })
    expect(host.ran.some((line) => line.startsWith('usermod'))).toBe(false)
  })

  it('ends no agent in favour of one that could not start with its damaged identity', async () => {
    const host = new FakeHost(0)
    host.init = 'systemd'
    const identity = join(dir, 'var/lib/eitri/identity.json')
    mkdirSync(join(dir, 'var/lib/eitri'), { recursive: true })
    writeFileSync(identity, '')
    await expect(put(host, { start: true })).rejects.toMatchObject({
      code: 'agent/identity-damaged',
      params: { file: identity },
    })
    expect(host.ran.filter((command) => /restart|stop/.test(command))).toEqual([])
    expect(readFileSync(identity, 'utf8')).toBe('')
  })

  it('never replaces a file of somebody else by its link', async () => {
    mkdirSync(join(dir, 'usr/local/bin'), { recursive: true })
    writeFileSync(join(dir, 'usr/local/bin/eitri-agent'), 'mine')
    await expect(put(new FakeHost(0))).rejects.toMatchObject({ code: 'agent/install-failed' })
    expect(readFileSync(join(dir, 'usr/local/bin/eitri-agent'), 'utf8')).toBe('mine')
  })
})

describe('uninstalling an agent', () => {
  it('takes back what install made, leaves the data, and may be repeated', async () => {
    const host = new FakeHost(0)
    host.init = 'systemd'
    const found = await put(host)
    writeFileSync(join(found.state_dir, 'identity.json'), '{}')
    const gone = await uninstall({ host })
    expect(gone.removed).toContain(join(dir, 'etc/systemd/system/eitri-agent.service'))
    expect(gone.left).toEqual([`${found.state_dir}: identity, images and VM disks`])
    expect(existsSync(join(dir, 'usr/local/lib/eitri'))).toBe(false)
    expect(existsSync(join(found.state_dir, 'identity.json'))).toBe(true)
    expect((await uninstall({ host })).removed).toEqual([])
    expect((await uninstall({ host, purge: true })).removed).toEqual([found.state_dir])
  })

  it('takes back the group and the memberships it made, and none that were there', async () => {
    const group = join(dir, 'etc/group')
    const host = new FakeHost(0)
    host.programs['gpasswd'] = () => 0
    await put(host, { steerUser: ['alice'] })
    await put(host, { steerUser: ['alice'] }, '1.3.0')
    expect((await uninstall({ host })).removed).toContain('the group eitri')
    expect(host.ran.at(-1)).toBe('groupdel eitri')

    writeFileSync(group, 'root:x:0:\neitri:x:990:carol\n')
    host.programs['usermod'] = () => {
      writeFileSync(group, 'root:x:0:\neitri:x:990:carol,alice\n')
      return 0
    }
    await put(host, { steerUser: ['alice', 'carol'] })
    expect((await uninstall({ host })).removed).toContain('alice from the group eitri')
    expect(host.ran.at(-1)).toBe('gpasswd -d alice eitri')
    expect(host.ran.filter((line) => line.startsWith('groupdel'))).toHaveLength(1)
  })

  it('purges nothing while a VM runs there', async () => {
    const host = new FakeHost(1000)
    const found = await put(host)
    const vm = join(found.state_dir, 'vms', 'x')
    mkdirSync(vm, { recursive: true })
    const before = process.cwd()
    process.chdir(vm)
    try {
      await expect(uninstall({ host, purge: true })).rejects.toMatchObject({ code: 'vm/stop-failed' })
      expect(existsSync(found.executable)).toBe(true)
      expect((await uninstall({ host })).left).toContain('1 VMs that run')
    } finally {
      process.chdir(before)
    }
  })
})
