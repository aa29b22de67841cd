import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { create, type DescMessage, type Message, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { silentLog } from '../../../../../src/ipc/base/log.ts'
import { GetDesiredResponseSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/desired_pb.js'
import { type DesiredStateSchema, ReportSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import type { VmSpecSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { makePlausible } from '../../../../../src/main/control/hosts/plausible.ts'
import type { RebuildDeps } from '../../../../../src/main/control/rebuild/rebuild-store.ts'
import { rebuildStore } from '../../../../../src/main/control/rebuild/rebuild-store.ts'
import { lookAtStore } from '../../../../../src/main/control/store/integrity.ts'
import { str, u8, u32, u64 } from '../../../../../src/main/control/trust/openssh/wire.ts'
import { krlOf } from '../../../../../src/main/control/trust/revocations.ts'
import { aHost, aStore, aTempDir, aVm, START } from '../a-store.ts'

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(32)) as [string, string, string]
const MOST = 2n ** 64n - 1n
type Spec = MessageInitShape<typeof VmSpecSchema>
const spec = (vmId: string, name: string, change: Spec = {}): Spec => ({
  ...{ vmId, name, imageUrl: 'https://images.test/a', imageSha256: 'd'.repeat(64), imageKind: 'disk' },
  ...{ vcpus: 1, memMb: 512, diskGb: 10, powerState: 'running', ...change },
})

/** As the link with an agent hands on what it says. */
function plausibly<T extends Message>(desc: DescMessage, message: T): T {
  makePlausible(desc, message)
  return message
}

interface Told {
  epoch?: bigint
  state: MessageInitShape<typeof DesiredStateSchema>
  report?: MessageInitShape<typeof ReportSchema>
}

/** A damaged store of the hosts `liar` and `honest`, each with a VM that can be read, and what each says it was told. */
async function rebuilt(liar: Told, honest: Told = { state: { vms: [spec(B, 'db'), spec(C, 'mail')] } }) {
  const file = join(aTempDir(), 'eitri.db')
  const before = aStore(file)
  const ids = ['liar', 'honest'].map((name) => before.hosts.create(aHost({ name })).id)
  for (const [n, id] of ids.entries()) before.vms.create(aVm(id, { name: `read-${n}` }))
  before.db.run('UPDATE hosts SET sent_epoch = 1, sent_digest = $digest', { digest: 'x' })
  before.db.close()
  const raw = new DatabaseSync(file)
  raw.exec('DROP TRIGGER vms_sound_update_1')
  raw.exec("UPDATE vms SET status = 'rotten' WHERE name = 'read-0'")
  raw.close()
  const stores = aStore(file)
  const told = new Map(ids.map((id, n) => [id, [liar, honest][n]]))
  const registry = {
    active: (id: string) => ({
      sessionId: 's',
      connection: {
        client: {
          getDesired: async () => {
            const { epoch = 9n, state } = told.get(id)!
            return plausibly(GetDesiredResponseSchema, create(GetDesiredResponseSchema, { epoch, state }))
          },
        },
      },
    }),
    live: (id: string) => {
      const given = told.get(id)?.report
      return { report: given && plausibly(ReportSchema, create(ReportSchema, given)) }
    },
  } as unknown as RebuildDeps['registry']
  const clock = { now: () => START }
  const { notes } = await rebuildStore({ stores, registry, file, clock, log: silentLog })
  const names = (n: number) => stores.vms.listByHost(ids[n]!).map(({ name }) => name)
  return { stores, notes, liar: names(0), honest: names(1), file, ids }
}

const krlOfZero = Buffer.concat([
  ...[u64(0x5353_484b_524c_0a00n), u32(1), u64(1n), u64(1n), u64(0n), str(''), str('')],
  ...[u8(1), str(Buffer.concat([str(''), str(''), u8(0x20), str(Buffer.concat([u64(0n), u64(7n)]))]))],
])
const port = (id: string, guestPort: number) => ({
  ...{ id, vmId: A, guestPort, hostPort: 80, protocol: 'tcp', scope: 'lan' },
})

describe('a store made anew of what hosts say', () => {
  it.each<[string, Told]>([
    ['an epoch past all that can be counted', { epoch: MOST, state: { vms: [spec(A, 'web')] } }],
    ['the last epoch that can be stored', { epoch: 2n ** 63n - 1n, state: { vms: [spec(A, 'web')] } }],
    ['more restarts than can be counted', { state: { vms: [spec(A, 'web', { restartCount: MOST })] } }],
    ['a grace longer than time', { state: { vms: [spec(A, 'web', { tombstone: { graceS: MOST } })] } }],
    [
      'an end of a deletion that is no moment',
      {
        state: { vms: [spec(A, 'web', { tombstone: { graceS: 60n } })] },
        report: { quarantined: [{ vmId: A, destroyAt: { seconds: 2n ** 62n, nanos: 0 } }] },
      },
    ],
    ['a port that is none', { state: { vms: [spec(A, 'web')], exposures: [port('p', 70_000)] } }],
    ['the id of a VM of another host', { state: { vms: [spec(C, 'web')] } }],
    ['one VM twice', { state: { vms: [spec(A, 'web'), spec(A, 'web2')] } }],
    ['an id that is none', { state: { vms: [spec('../../etc', 'web')] } }],
    ['a list that revokes serial 0', { state: { vms: [spec(A, 'web')], sshKrl: krlOfZero } }],
  ])('takes from the honest host all it says, whatever the other one says: %s', async (_, liar) => {
    const made = await rebuilt(liar)
    expect(made.honest).toContain('db')
    expect(made.stores.db.damage).toBeUndefined()
    expect(lookAtStore(made.file)).toMatchObject({ kind: 'sound' })
    expect(() => krlOf(made.stores, 'default')).not.toThrow()
    for (const [n, id] of made.ids.entries()) made.stores.vms.create(aVm(id, { name: `later-${n}` }))
  })

  it('gives a VM that two hosts claim to neither, and says so of both', async () => {
    const made = await rebuilt({ state: { vms: [spec(C, 'web')] } })
    expect([made.liar, made.honest]).toEqual([[], ['db']])
    for (const host of ['liar', 'honest'])
      expect(made.notes.join('\n')).toMatch(new RegExp(`on ${host} stays there unowned`))
  })

  it('goes on after restarts that an agent counted past all reason', async () => {
    const { stores } = await rebuilt({ state: { vms: [spec(A, 'web', { restartCount: MOST })] } })
    const { restartCount } = stores.vms.find(A) ?? { restartCount: 0 }
    stores.vms.edit(A, 'vm.restart', { restartCount: restartCount + 1 })
    expect(stores.vms.listAll().map(({ name }) => name)).toContain('web')
  })

  it('takes an honest deletion as its host counts it', async () => {
    const state = { vms: [spec(A, 'old', { tombstone: { graceS: 600n } })] }
    const ends = START + 600_000
    const made = await rebuilt({
      state,
      report: { quarantined: [{ vmId: A, destroyAt: timestampFromMs(ends) }] },
    })
    expect(made.stores.vms.find(A)).toMatchObject({ deletedAt: new Date(START), graceS: 600 })
  })
})
