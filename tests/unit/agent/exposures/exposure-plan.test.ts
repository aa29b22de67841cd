import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { MAX_EXPOSURES, planPorts } from '../../../../src/agent/exposures/exposure-plan.ts'
import { type Exposure, ExposureSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'

const VM = 'a'.repeat(32)
const OTHER = 'b'.repeat(32)
const HERE = { run: '1', unreachable: '' }

const anExposure = (change: MessageInitShape<typeof ExposureSchema> = {}): Exposure =>
  create(ExposureSchema, {
    id: 'e1',
    vmId: VM,
    guestPort: 443,
    hostPort: 8443,
    protocol: 'tcp',
    scope: 'lan',
    ...change,
  })
const plan = (exposures: Exposure[], guest = HERE, isWanted = (_: string) => true) =>
  planPorts(exposures, isWanted, () => guest)

describe('the plan of published ports', () => {
  it('listens for a guest that runs and has an address', () => {
    expect(plan([anExposure()])).toEqual([
      {
        kind: 'listen',
        id: 'e1',
        run: '1',
        port: { id: 'e1', vmId: VM, guestPort: 443, hostPort: 8443, protocol: 'tcp', scope: 'lan' },
      },
    ])
  })

  it('takes an unsaid scope for the network', () => {
    expect(plan([anExposure({ scope: '' })])).toMatchObject([{ port: { scope: 'lan' } }])
    expect(plan([anExposure({ scope: 'loopback' })])).toMatchObject([{ port: { scope: 'loopback' } }])
  })

  it('waits, and says why, while the guest is off or its address unknown', () => {
    expect(plan([anExposure()], { run: '', unreachable: '' })).toEqual([
      { kind: 'wait', id: 'e1', reason: 'The VM is not running.' },
    ])
    expect(plan([anExposure()], { run: '1', unreachable: 'Its address is not known.' })).toEqual([
      { kind: 'wait', id: 'e1', reason: 'Its address is not known.' },
    ])
  })

  it('has nothing of a VM that is deleted or not wanted here', () => {
    expect(
      plan([anExposure(), anExposure({ id: 'e2', vmId: OTHER, hostPort: 80 })], HERE, (id) => id === OTHER),
    ).toMatchObject([{ kind: 'listen', id: 'e2' }])
  })

  it('lets the first have a port, whether or not its guest runs, and names it to the second', () => {
    const [first, second] = plan([anExposure(), anExposure({ id: 'e2', vmId: OTHER })], { run: '', unreachable: '' })
    expect(first).toMatchObject({ kind: 'wait', id: 'e1' })
    expect(second).toEqual({ kind: 'refuse', id: 'e2', reason: `Port 8443 is published already, for VM ${VM}.` })
  })

  it('knows TCP and UDP ports of one number apart', () => {
    const plans = plan([anExposure(), anExposure({ id: 'e2', protocol: 'udp' })])
    expect(plans.map(({ kind }) => kind)).toEqual(['listen', 'listen'])
  })

  it.each([
    ['a protocol it does not know', { protocol: 'sctp' }],
    ['a scope it does not know', { scope: 'public' }],
    ['no guest port', { guestPort: 0 }],
    ['a host port past the last', { hostPort: 65_536 }],
  ])('refuses %s, for itself alone', (_, change) => {
    const plans = plan([anExposure(change), anExposure({ id: 'e2', hostPort: 80 })])
    expect(plans.map(({ kind }) => kind)).toEqual(['refuse', 'listen'])
  })

  it('takes one of each id, and no more than a host publishes', () => {
    expect(plan([anExposure(), anExposure({ hostPort: 81 })])).toHaveLength(1)
    const many = Array.from({ length: 3 * MAX_EXPOSURES }, (_, i) => anExposure({ id: `e${i}`, hostPort: 1 + i }))
    expect(plan(many).filter(({ kind }) => kind === 'listen')).toHaveLength(MAX_EXPOSURES)
    expect(plan(many)[MAX_EXPOSURES]).toMatchObject({ kind: 'refuse', id: `e${MAX_EXPOSURES}` })
    expect(plan(many)).toHaveLength(2 * MAX_EXPOSURES)
  })
})
