import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { VmService } from '../../../../src/ipc/gen/eitri/fleet/v1/vm_pb.js'
import { joinSame } from '../../../../src/renderer/api/join-same.ts'

function aPlane() {
  const asked: string[] = []
  let answer = Promise.withResolvers<void>()
  const transport = createRouterTransport(
    ({ service }) => {
      service(VmService, {
        createVm: async ({ name }) => {
          asked.push(name)
          await answer.promise
          return { vm: { id: `id-${asked.length}`, name } }
        },
        listVms: () => {
          asked.push('list')
          return {}
        },
      })
    },
    { transport: { interceptors: [joinSame()] } },
  )
  return {
    asked,
    vms: createClient(VmService, transport),
    answers: () => answer.resolve(),
    refuses: () => answer.reject(new ConnectError('no', Code.Unavailable)),
    again: () => {
      answer = Promise.withResolvers<void>()
    },
  }
}

describe('a change asked for twice at once', () => {
  it('is one change, and both hear its answer', async () => {
    const plane = aPlane()
    const both = Promise.all([plane.vms.createVm({ name: 'web' }), plane.vms.createVm({ name: 'web' })])
    plane.answers()
    expect((await both).map(({ vm }) => vm?.id)).toEqual(['id-1', 'id-1'])
    expect(plane.asked).toEqual(['web'])
  })

  it('is two where something of it is another', async () => {
    const plane = aPlane()
    const both = Promise.all([plane.vms.createVm({ name: 'web' }), plane.vms.createVm({ name: 'web-2' })])
    plane.answers()
    await both
    expect(plane.asked).toEqual(['web', 'web-2'])
  })

  it('is refused to both, and may be asked for again after', async () => {
    const plane = aPlane()
    const both = Promise.allSettled([plane.vms.createVm({ name: 'web' }), plane.vms.createVm({ name: 'web' })])
    plane.refuses()
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    plane.again()
    plane.answers()
    expect((await plane.vms.createVm({ name: 'web' })).vm?.name).toBe('web')
    expect(plane.asked).toEqual(['web', 'web'])
  })

  it('is no rule for who only looks: each has its own answer', async () => {
    const plane = aPlane()
    await Promise.all([plane.vms.listVms({}), plane.vms.listVms({})])
    expect(plane.asked).toEqual(['list', 'list'])
  })
})
