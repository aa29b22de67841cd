import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openHostShell } from '../../src/main/control/consoles/host-shell.ts'
import type { Shell } from '../../src/main/control/consoles/shell.ts'
import type { ActiveSession } from '../../src/main/control/hosts/agent-connection.ts'
import { openAgentLink } from '../../src/main/control/hosts/agent-link.ts'
import type { SshConnection } from '../../src/main/control/hosts/ssh/connection.ts'
import { startFakeAgent } from '../support/fake-agent.ts'
import { aPerson, dialLab } from '../support/openssh-dial.ts'
import { until } from '../support/ports-rig.ts'
import { childrenOf, type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../support/private-sshd.ts'
import { ShellWindow } from '../support/shell-client.ts'
import { SshFleet, type SshGuest } from '../support/ssh-guest.ts'
import { openLab, systemClock, targetOf } from '../support/ssh-login.ts'

const STAYS = new AbortController().signal
const SIZE = { rows: 33, cols: 101 }

describe.skipIf(privateSshdImpossible())('a shell in a guest', { timeout: 60_000 }, () => {
  let fleet: SshFleet
  let web: { vmId: string; guest: SshGuest }
  const windows: ShellWindow[] = []
  const open = (ref: string, login = '', headers = {}) => {
    const window = new ShellWindow(fleet.rack.apiSocket, { kind: 'vm', ref, login }, headers)
    windows.push(window)
    return window
  }

  beforeAll(async () => {
    fleet = await SshFleet.open()
    web = await fleet.up('web')
    // Not the person's own: what their shell does at its start may take seconds.
    web.guest.root.write('etc/ssh/sshd_config.d/00-home.conf', `SetEnv HOME=${web.guest.root.root} LC_ALL=C.UTF-8\n`)
    await web.guest.boot(await fleet.spec(web.vmId), new Uint8Array())
  })
  afterEach(async () => {
    for (const window of windows.splice(0)) await window[Symbol.asyncDispose]()
  })
  afterAll(() => fleet?.[Symbol.asyncDispose]())

  it('answers what is typed, on a terminal of the size it was opened with', async () => {
    const shell = open('web')
    await until(
      () => shell.opened,
      () => shell.closedBecause ?? shell.text,
    )
    expect(shell.opened).toMatchObject({ start: 0n, end: 0n, title: 'root@web' })
    shell.type('echo $((6*7)) at $(stty size) as $TERM\r')
    await shell.says(/42 at 33 101 as xterm-256color/)
    shell.type('exit 3\r')
    expect(await shell.ends()).toBe('root@web: it was left with status 3')
  })

  it('follows the size of its view, and of several sizes at once the last', async () => {
    const shell = open('web')
    await shell.says(/[#$] $/)
    shell.resize(40, 120)
    shell.resize(41, 121)
    shell.resize(42, 122)
    shell.type('while [ "$(stty size)" != "42 122" ]; do sleep 0.1; done; echo now $(stty size)\r')
    await shell.says(/now 42 122/)
  })

  it('leaves nothing of its login behind', async () => {
    const shell = open('web')
    await shell.says(/[#$] $/)
    await shell[Symbol.asyncDispose]()
    const dir = join(fleet.rack.dataDir, 'run/ssh')
    await until(
      () => (readdirSync(dir).length === 0 ? true : undefined),
      () => readdirSync(dir).join(),
    )
  })

  it('carries characters of every kind, and none of them ends ssh', async () => {
    const shell = open('web')
    await shell.says(/[#$] $/)
    // At the start of a line ssh itself would take these two as the order to end.
    shell.type('\r~.\r')
    await shell.says(/~\.: /)
    shell.type('echo größe-漢字-$((6*7))\r')
    await shell.says(/größe-漢字-42/)
  })

  it('says that its connection was lost, and that nobody was let in', async () => {
    const shell = open('web')
    await shell.says(/[#$] $/)
    shell.type('kill -9 $PPID\r')
    expect(await shell.ends()).toMatch(/^root@web: .*(closed|broken|reset|lost|cut)/i)
    expect(await open('web', 'nobody-here').ends()).toMatch(/nobody-here@web: .*Permission denied/)
  })

  it('is of the tenant’s own VMs alone', async () => {
    await fleet.rack.client.tenants.createTenant({ name: 'lab' })
    expect(await open('web', '', { 'eitri-tenant': 'lab' }).ends()).toMatch(/There is no VM web/)
    expect(await open('nowhere').ends()).toMatch(/There is no VM nowhere/)
  })

  it('stands in the audit trail', async () => {
    const shell = open('web')
    await shell.says(/[#$] $/)
    const { entries } = await fleet.rack.client.audit.listAudit({ action: 'vm.shell' })
    expect(entries[0]).toMatchObject({ vmId: web.vmId, detail: { login: 'root' } })
  })
})

describe.skipIf(privateSshdImpossible())('a shell on a host', { timeout: 60_000 }, () => {
  const cleanup: (() => unknown)[] = []
  afterEach(async () => {
    for (const step of cleanup.splice(0).reverse()) await step()
  })

  /** What it printed, and a way to wait for more. */
  const heard = (shell: Shell) => {
    let text = ''
    shell.channel.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
    })
    return (pattern: RegExp) =>
      until(
        () => pattern.exec(text) ?? undefined,
        () => text,
      )
  }
  const sessionOver = async (sshd: PrivateSshd, connection: SshConnection): Promise<ActiveSession> => {
    const agent = await startFakeAgent(join(sshd.dir, 'agent.sock'))
    cleanup.push(() => agent.close())
    const link = openAgentLink({
      duplex: await connection.openSocket(agent.socketPath),
      ...{ carrier: 'streamlocal', sshClient: connection.client, exec: connection.exec, host: 'lab' },
      ...{ hostKeyFingerprint: '', rxBytes: connection.rxBytes, clock: systemClock, onClose: () => {} },
    })
    return { hostId: 'h1', sessionId: 's1', connection: link, hello: {} } as unknown as ActiveSession
  }
  const bySsh2 = async (...options: string[]) => {
    const sshd = await startPrivateSshd(options)
    cleanup.push(() => sshd.close())
    const agent = await startFakeAgent(join(sshd.dir, 'a.sock'))
    cleanup.push(() => agent.close())
    const { link, connection } = await openLab(targetOf(sshd), { socketPath: agent.socketPath, executable: '/nowhere' })
    cleanup.push(() => connection.close())
    return { sshd, session: { hostId: 'h1', sessionId: 's1', connection: link, hello: {} } as unknown as ActiveSession }
  }

  it('runs over the sign-in the link has, and is told each size of its view', async () => {
    const { session } = await bySsh2()
    const shell = await openHostShell({ session, host: 'lab', size: SIZE, signal: STAYS })
    const says = heard(shell)
    shell.channel.write('echo $((6*7)) at $(stty size)\r')
    await says(/42 at 33 101/)
    shell.resize?.({ rows: 40, cols: 120 })
    shell.channel.write('echo now $(stty size)\r')
    await says(/now 40 120/)
    shell.channel.write('exit\r')
    expect(await shell.ended).toBe('it was left')
  })

  it('says what cut its connection', async () => {
    const { sshd, session } = await bySsh2()
    const shell = await openHostShell({ session, host: 'lab', size: SIZE, signal: STAYS })
    const says = heard(shell)
    await says(/[#$] $/)
    for (const pid of sshd.sessions()) for (const child of [...childrenOf(pid), pid]) process.kill(child, 'SIGKILL')
    expect(await shell.ended).toMatch(/lost|cut|ended/)
  })

  it('is refused in words where its sshd allows no further session', async () => {
    const { session } = await bySsh2('MaxSessions 1')
    const first = await openHostShell({ session, host: 'lab', size: SIZE, signal: STAYS })
    await expect(openHostShell({ session, host: 'lab', size: SIZE, signal: STAYS })).rejects.toMatchObject({
      code: 'ssh/sessions-refused',
    })
    first.channel.destroy()
  })

  it('by the system’s ssh it keeps the size it was opened with', async () => {
    const sshd = await startPrivateSshd()
    cleanup.push(() => sshd.close())
    const person = aPerson()
    cleanup.push(() => person.remove())
    const connection = await (await dialLab(person, sshd)).signedIn
    cleanup.push(() => connection.close())
    const shell = await openHostShell({
      session: await sessionOver(sshd, connection),
      host: 'lab',
      size: SIZE,
      signal: STAYS,
    })
    expect(shell.resize).toBeUndefined()
    const says = heard(shell)
    shell.channel.write('echo at $(stty size)\r')
    await says(/at 33 101/)
    shell.channel.write('~.\rexit\r')
    expect(await shell.ended).toMatch(/^it was left/)
  })

  it('there is none without an SSH link', async () => {
    const session = { connection: {} } as unknown as ActiveSession
    await expect(openHostShell({ session, host: 'this-computer', size: SIZE, signal: STAYS })).rejects.toMatchObject({
      code: 'console/unavailable',
    })
    await expect(openHostShell({ session: undefined, host: 'lab', size: SIZE, signal: STAYS })).rejects.toMatchObject({
      code: 'host/no-answer',
    })
  })
})
