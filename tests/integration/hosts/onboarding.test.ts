import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addHost } from '../../../src/main/control/hosts/onboarding.ts'
import { SSH_STEPS } from '../../../src/main/control/hosts/ssh-onboarding.ts'
import { aFleet, aTask, cancelled } from '../../support/adding-hosts.ts'
import { type SshHost, sshHostImpossible, startSshHost } from '../../support/ssh-host.ts'

const impossible = sshHostImpossible()
const HOME = '/home/dev'

describe('adding a host over SSH', () => {
  let dir: string
  let host: SshHost
  let home: ReturnType<typeof aFleet>
  let other: ReturnType<typeof aFleet>
  beforeAll(async () => {
    if (impossible !== undefined) return
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-add-'))
    home = aFleet(dir, 'home')
    other = aFleet(dir, 'other')
    host = await startSshHost({ name: 'rack1' })
  })
  afterAll(async () => {
    home?.close()
    other?.close()
    await host?.close()
    if (dir) fs.rmSync(dir, { recursive: true })
  })
  beforeEach((test) => test.skip(impossible !== undefined, impossible))

  const input = (name: string) => ({
    name,
    way: {
      kind: 'ssh' as const,
      host: host.address,
      port: host.port,
      user: 'dev',
      identityFile: host.clientKeyPath,
      acceptHostKey: host.hostKeyFingerprint,
    },
  })
  const left = () => host.must(['find', HOME, '/tmp', '/var/tmp', '-user', 'dev', '-path', '*eitri*'])
  const agents = () => host.listProcesses().filter(({ argv }) => argv.includes('serve'))

  it('leaves nothing on the host and nothing in the store when it is cancelled after the install', async () => {
    const { task, seen } = aTask(
      () => ({}),
      (name, stop) => name === 'First report' && stop.abort(cancelled),
    )
    await expect(addHost(home.deps, input('rack1'), task)).rejects.toMatchObject({ code: 'app/cancelled' })
    expect(seen.done).toEqual(SSH_STEPS.slice(0, -1))
    expect(await left()).toBe('')
    expect(agents()).toEqual([])
    expect(home.stores.hosts.listAll()).toEqual([])
    expect(home.stores.hostKeys.list(host.address, host.port)).toEqual([])
  })

  it('ends with the row, its key and a living connection', async () => {
    const { task, seen } = aTask(() => ({}))
    const { resultId } = await addHost(home.deps, input('rack1'), task)
    expect(seen).toMatchObject({ planned: SSH_STEPS, done: SSH_STEPS, asked: [] })
    const row = home.stores.hosts.get(resultId)
    expect(row).toMatchObject({ name: 'rack1', hostKeyFingerprint: host.hostKeyFingerprint, agent: { runsAs: 'dev' } })
    const keys = home.stores.hostKeys.list(host.address, host.port)
    expect(keys).toMatchObject([{ fingerprint: host.hostKeyFingerprint, how: 'accepted' }])
    expect((await home.links[0]?.client.getStatus({}))?.fleetId).toBe(home.deps.attachAs.fleetId)
    expect((await left()).includes('.eitri-install-')).toBe(false)
  })

  it('finds the same machine under another name, and leaves it as it is', async () => {
    const before = agents()
    const { task } = aTask(() => ({}))
    const again = addHost(home.deps, input('rack2'), task)
    await expect(again).rejects.toMatchObject({ code: 'host/already-added', params: { host: 'rack1' } })
    expect(agents()).toEqual(before)
    expect(home.stores.hosts.listAll()).toHaveLength(1)
  })

  it('asks before it takes a host from another control plane, and changes nothing without a yes', async () => {
    const before = agents()
    const { task, seen } = aTask(() => ({ agree: false }))
    const refused = addHost(other.deps, input('mine'), task)
    await expect(refused).rejects.toMatchObject({ code: 'agent/foreign-controller', params: { controller: 'home' } })
    expect(seen.asked).toEqual([{ kind: 'take_over', controllerName: 'home' }])
    expect(seen.done).not.toContain('Look at host')
    expect(agents()).toEqual(before)
  })

  it('takes it over with a yes', async () => {
    const { task } = aTask(() => ({ agree: true }))
    await addHost(other.deps, input('mine'), task)
    expect((await other.links[0]?.client.getStatus({}))?.fleetId).toBe(other.deps.attachAs.fleetId)
  })
})
