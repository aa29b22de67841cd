import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addHost } from '../../../src/main/control/hosts/onboarding.ts'
import type { Answer, Question } from '../../../src/main/control/tasks/task-context.ts'
import { aFleet, aTask } from '../../support/adding-hosts.ts'
import { describeHosts } from '../../support/describe-hosts.ts'
import { type HostSshd, startHostSshd } from '../../support/host-sshd.ts'
import { loginsOf } from '../../support/logins.ts'
import { type SshHost, startSshHost } from '../../support/ssh-host.ts'
import { forever } from '../../support/ssh-login.ts'
import { aTokenLogin, code, PASSWORD } from './people.ts'

describeHosts('adding a host signs in once', { timeout: 90_000 }, () => {
  let dir: string
  let host: SshHost
  let fleet: ReturnType<typeof aFleet>
  beforeAll(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-once-'))
    fleet = aFleet(dir, 'home')
    host = await startSshHost({ name: 'rack1' })
    await host.must(['groupadd', '-f', 'eitri'])
  }, 60_000)
  afterAll(async () => {
    fleet?.close()
    await host?.close()
    fs.rmSync(dir, { recursive: true })
  }, 30_000)

  const add = async (sshd: HostSshd, user: string, over: object, answer: (question: Question) => Answer) => {
    const { task, seen } = aTask(answer)
    const way = {
      kind: 'ssh' as const,
      host: host.address,
      port: sshd.port,
      user,
      identityFile: host.clientKeyPath,
      acceptHostKey: sshd.hostKey.fingerprint,
      ...over,
    }
    const { resultId } = await addHost(fleet.deps, { name: user, way }, task)
    return { row: fleet.stores.hosts.get(resultId), link: fleet.links.at(-1)!, seen }
  }

  it('a code, sudo with a password, one session at a time and no forwarding: installed, linked, an image’s worth sent', async () => {
    await aTokenLogin(host, 'coder', 'sshd-code', false)
    const rules = 'coder ALL=(ALL) ALL\n'
    await host.must(['sh', '-c', 'cat >/etc/sudoers.d/coder && chmod 0440 /etc/sudoers.d/coder'], { input: rules })
    await host.must(['gpasswd', '-d', 'coder', 'eitri'])
    const lines = [
      'KbdInteractiveAuthentication yes',
      'AuthenticationMethods publickey,keyboard-interactive',
      'MaxSessions 1',
      'AllowStreamLocalForwarding no',
    ]
    const sshd = await startHostSshd(host, { port: 2301, lines, pam: 'sshd-code' })
    const answer = (question: Question) => (question.kind === 'secret' ? { secret: PASSWORD } : code(question))
    const { row, link, seen } = await add(sshd, 'coder', { useSudo: true }, answer)
    expect(seen.asked.map((question) => (question.kind === 'secret' ? question.what : question.kind))).toEqual([
      'prompt',
      'sudo_password',
    ])
    expect(row).toMatchObject({
      agent: { runsAs: 'root' },
      ssh: { useSudo: true, signInKey: expect.stringMatching(/./) },
    })
    expect(link.carrier).toBe('stdio')
    const bulk = await link.bulk(forever)
    expect((await bulk.client.getStatus({})).fleetId).toBe(fleet.deps.attachAs.fleetId)
    await expect.poll(() => loginsOf(sshd)).toBe(1)
  })

  it('a login whose fixed command is the agent: nothing is installed, and its link works', async () => {
    const key = fs.readFileSync(`${host.clientKeyPath}.pub`, 'utf8')
    const script = `
useradd -m -s /bin/sh -G eitri boxed; mkdir /home/boxed/.ssh
cat >/home/boxed/.ssh/authorized_keys; chown -R boxed: /home/boxed/.ssh`
    const forced = `restrict,command="/usr/local/bin/eitri-agent rpc --stdio" ${key}`
    await host.must(['sh', '-c', script], { input: forced })
    const sshd = await startHostSshd(host, { port: 2302 })
    const known = add(sshd, 'boxed', {}, () => ({}))
    await expect(known).rejects.toMatchObject({ code: 'host/already-added', params: { host: 'coder' } })
    await expect.poll(() => loginsOf(sshd)).toBe(1)
    const [first] = fleet.stores.hosts.listAll()
    fleet.stores.hosts.remove(first!.id)
    const { row, link, seen } = await add(sshd, 'boxed', {}, () => ({}))
    expect(seen.done).not.toContain('Install agent')
    expect(row.agent).toMatchObject({ socketPath: '', executable: '' })
    expect(link.carrier).toBe('stdio')
    expect((await link.client.getStatus({})).fleetId).toBe(fleet.deps.attachAs.fleetId)
    await expect.poll(() => loginsOf(sshd)).toBe(2)
  })
})
