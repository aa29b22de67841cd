import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStores } from '../../src/main/control/store/stores.ts'
import { fleetClient } from '../../src/main/fleet-client.ts'
import { unaryMethods } from '../support/api-document.ts'
import { badRequest, wrongAnswer } from '../support/api-fuzz.ts'
import { ScriptedHost } from '../support/scripted-host.ts'
import { aHost, aVm } from '../support/store-rows.ts'

const RUNS = 40
const SEED = 20_261_201
const FOREIGN = { host: 'e'.repeat(32), vm: 'f'.repeat(32) }

let rig: ScriptedHost
let known: string[]

beforeAll(async () => {
  rig = await ScriptedHost.open()
  known = ['web', 'rack', await rig.vm('web'), FOREIGN.host, FOREIGN.vm, 'theirs', 'their-host', 'lab']
  const stores = openStores(rig.database, { now: () => Date.now() })
  stores.db.run("INSERT INTO tenants (name, created_at) VALUES ('lab', '2026-01-01T00:00:00.000Z')")
  stores.hosts.create(aHost({ id: FOREIGN.host, tenant: 'lab', name: 'their-host' }))
  stores.vms.create(aVm(FOREIGN.host, { id: FOREIGN.vm, name: 'theirs', trustedCas: [] }))
  stores.db.close()
}, 30_000)
afterAll(() => rig?.[Symbol.asyncDispose]())

/** All another tenant sees, without what moves by itself. */
async function theirs(): Promise<string> {
  const lab = fleetClient(rig.apiSocket, { client: 'api', tenant: 'lab' })
  const [{ hosts }, { vms }, { ports }] = await Promise.all([
    lab.hosts.listHosts({}),
    lab.vms.listVms({}),
    lab.ports.listPorts({}),
  ])
  const still = hosts.map(({ nextTryAt: _, link: __, linkFault: ___, ...host }) => host)
  return JSON.stringify([still, vms, ports], (_, value) => (typeof value === 'bigint' ? `${value}` : value))
}

describe('whatever is sent to the fleet API', () => {
  it('there are calls to send it to', () => expect(unaryMethods.length).toBeGreaterThan(40))

  it.each(unaryMethods)(
    '%s answers with what the document says or with a fault that says why, and nothing of another tenant moves',
    async (method) => {
      const before = await theirs()
      await fc.assert(
        fc.asyncProperty(badRequest(method, known), async (body) => {
          expect(await wrongAnswer(rig.apiSocket, method, body)).toBeUndefined()
        }),
        { seed: SEED, numRuns: RUNS, endOnFailure: true },
      )
      expect(await theirs()).toBe(before)
      expect((await rig.client.fleet.getInfo({})).pid).toBe(process.pid)
    },
    60_000,
  )
})
