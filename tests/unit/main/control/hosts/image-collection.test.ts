import { create } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { CollectImagesResponseSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/image_pb.js'
import type { ActiveSession } from '../../../../../src/main/control/hosts/agent-connection.ts'
import { collectOn } from '../../../../../src/main/control/hosts/image-collection.ts'

const SHA = 'a'.repeat(64)
const HOST = { id: '1'.repeat(32), name: 'rack1' }
const asked: unknown[] = []

/** Undefined = not connected. */
function collect(answer: (() => Promise<unknown>) | undefined) {
  const client = {
    collectImages: (request: unknown) => {
      asked.push(request)
      return answer?.()
    },
  }
  const session = answer ? ({ sessionId: 's', connection: { client } } as unknown as ActiveSession) : undefined
  const namesOf = (sha256: string) => (sha256 === SHA ? ['debian'] : [])
  const wish = { dryRun: true, all: false }
  return collectOn({ sessions: { active: () => session }, namesOf }, HOST, wish, AbortSignal.timeout(5_000))
}

describe('a collection on one host', () => {
  it('is told with the names of the catalogue', async () => {
    const said = create(CollectImagesResponseSchema, {
      removed: [{ sha256: SHA, sizeBytes: 5n, whole: true, reason: 'age', unusedS: 7n }],
      kept: [{ sha256: 'b'.repeat(64), reason: 'in_use', vms: ['web'] }],
      freeBytes: 9n,
      lowBytes: 3n,
      unknown: 'x',
    })
    const { removed, kept, ...rest } = await collect(async () => said)
    expect(asked.at(-1)).toEqual({ sessionId: 's', dryRun: true, all: false })
    expect(removed).toMatchObject([{ sha256: SHA, names: ['debian'], sizeBytes: 5n, unusedS: 7n, vms: [] }])
    expect(kept).toMatchObject([{ names: [], reason: 'in_use', vms: ['web'] }])
    expect(rest).toMatchObject({ hostId: HOST.id, hostName: 'rack1', freeBytes: 9n, lowBytes: 3n, unknown: 'x' })
    expect(rest.fault).toBeUndefined()
  })

  it('says in it that the host is not connected, or that its agent is too old to be asked', async () => {
    expect((await collect(undefined)).fault).toMatchObject({ code: 'host/no-answer', params: { host: 'rack1' } })
    const old = await collect(async () => Promise.reject(new ConnectError('no such method', Code.Unimplemented)))
    expect(old.fault).toMatchObject({ code: 'agent/version-skew', params: { host: 'rack1' } })
  })
})
