import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LoginAgents, type LoginVm } from '../../../../../src/main/control/tunnels/login-agents.ts'
import { aHost, aStore, aTempDir, aVm } from '../a-store.ts'

function aVmToLogInTo(): LoginVm {
  const { hosts, vms } = aStore()
  const host = hosts.create(aHost())
  const row = vms.create(aVm(host.id, { name: 'web' }))
  return { id: row.id, name: row.name, hostId: host.id, hostName: host.name, row }
}
const agentsIn = (dir: string) => new LoginAgents({ dir, issue: async () => undefined, knownHosts: () => [] })

it('a folder that cannot be made now keeps nobody from a later login', async () => {
  const parent = join(aTempDir(), 'p')
  const agents = agentsIn(join(parent, 'logins'))
  const vm = aVmToLogInTo()
  writeFileSync(parent, 'in the way')
  await expect(agents.hold(vm, 'root')).rejects.toThrow()
  rmSync(parent)
  mkdirSync(parent)
  const letGo = await agents.hold(vm, 'root')
  letGo()
  await agents.close()
})

it('a client that stays connected to the agent of a login is hung up on when all of them end', async () => {
  const dir = join(aTempDir(), 'logins')
  const agents = agentsIn(dir)
  const letGo = await agents.hold(aVmToLogInTo(), 'root')
  const client = connect(join(dir, 'root@web.eitri'))
  await once(client, 'connect')
  letGo()
  await Promise.all([once(client, 'close'), agents.close()])
  expect(client.destroyed).toBe(true)
})
