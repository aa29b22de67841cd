import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import type { Report } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { DesiredStateSchema, SnapshotSchema, SyncRequestSchema } from '../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { AgentProcess } from '../support/agent-process.ts'
import { attached, type WireClient, wireClient } from '../support/agent-wire.ts'

const VM = 'c0113c70'.repeat(4)
const [USED, STRAY] = [randomBytes(4096), randomBytes(8192)]
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** One session that wants things, waits for reports, pushes and collects. */
async function open(link: WireClient) {
  const { sync, sessionId } = await attached(link.client)
  let epoch = 0n
  return {
    want(change: MessageInitShape<typeof VmSpecSchema>) {
      const base = { vmId: VM, name: 'web', imageSha256: sha256(USED), vcpus: 1, memMb: 64, diskGb: 1 }
      const state = create(DesiredStateSchema, { vms: [create(VmSpecSchema, { ...base, ...change })] })
      const contentSha256 = createHash('sha256').update(toBinary(DesiredStateSchema, state)).digest()
      const value = create(SnapshotSchema, { epoch: ++epoch, contentSha256, state })
      sync.requests.push(create(SyncRequestSchema, { message: { case: 'snapshot', value } }))
    },
    report: (want: (report: Report) => boolean) => sync.until('report', want),
    async push(image: Uint8Array<ArrayBuffer>) {
      const start = { sessionId, sha256: sha256(image), sizeBytes: BigInt(image.length), offset: 0n }
      await link.client.putImage(
        (async function* () {
          yield { message: { case: 'start' as const, value: start } }
          yield { message: { case: 'chunk' as const, value: image } }
        })(),
      )
    },
    async collect(dryRun = false) {
      const { removed, kept } = await link.client.collectImages({ sessionId, dryRun, all: true })
      const named = (item: { sha256: string }) => (item.sha256 === sha256(USED) ? 'used' : 'stray')
      return { removed: removed.map(named), kept: kept.map((item) => `${named(item)} ${item.reason} ${item.vms}`) }
    },
  }
}

describe('the images of a real agent', () => {
  it('go when no VM needs them, wanted, quarantined or only on its disk, and not before', async () => {
    await using agent = new AgentProcess()
    await agent.start()
    using link = wireClient(agent.socketPath)
    const session = await open(link)
    await session.push(STRAY)
    session.want({ powerState: 'stopped' })
    await session.report((r) => r.wantedImages.length > 0)
    await session.push(USED)
    await session.report((r) => r.vms.some((vm) => vm.phase === 'ready'))
    const inUse = { removed: ['stray'], kept: ['used in_use web'] }
    expect(await session.collect(true)).toEqual(inUse)
    expect(await session.collect()).toEqual(inUse)
    const images = () => readdirSync(join(agent.stateDir, 'images')).filter((name) => name !== 'usage.json')
    expect(images()).toEqual([sha256(USED)])

    session.want({ imageSha256: sha256(STRAY), powerState: 'stopped' })
    session.want({ tombstone: { graceS: 3600n } })
    await session.report((r) => r.quarantined.length > 0)
    expect(await session.collect()).toEqual({ removed: [], kept: ['used in_use web'] })

    session.want({ tombstone: { graceS: 0n } })
    await session.report((r) => r.destroyed.includes(VM))
    session.want({ vmId: 'f'.repeat(32), tombstone: { graceS: 0n }, imageSha256: sha256(STRAY) })
    await session.report((r) => r.destroyed.includes('f'.repeat(32)))
    expect(await session.collect()).toEqual({ removed: ['used'], kept: [] })
    expect(images()).toEqual([])
  })
})
