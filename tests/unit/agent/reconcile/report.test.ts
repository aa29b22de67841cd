import { dirname } from 'node:path'
import { create, fromJson } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { buildReport, type ReportInput } from '../../../../src/agent/reconcile/report.ts'
import { CapacitySchema, HostMetricsSchema } from '../../../../src/ipc/gen/eitri/agent/v1/host_pb.js'
import { VmMetricsSchema, VmSpecSchema } from '../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { aVm, ID, OTHER, Rig } from './rig.ts'

const anInput = (change: Partial<ReportInput> = {}): ReportInput => ({
  epoch: 1n,
  epochDigest: '',
  fenced: false,
  results: new Map(),
  destroyed: [],
  capacity: undefined,
  images: [],
  imageBytes: () => 0,
  consoleEnd: () => 0n,
  bootId: 'boot-1',
  now: 0,
  notices: [],
  measured: undefined,
  exposures: [],
  ...change,
})

describe('a report', () => {
  it('carries epoch, acks and quarantine; what nobody told it is no answer, never a zero', async () => {
    await using rig = await Rig.open()
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db' }))
    await rig.want(aVm({ tombstone: { graceS: 3600n } }), aVm({ vmId: OTHER, name: 'db', tombstone: { graceS: 0n } }))
    expect(rig.engine.report()).toMatchObject({
      lastSeenEpoch: 2n,
      destroyed: [OTHER],
      quarantined: [{ vmId: ID }],
      guestCidr: '',
      hostUplinkAddr: '',
      exposures: [],
      bootId: 'boot-1',
    })
    const { capacity, metrics } = buildReport(anInput())
    expect([capacity, metrics]).toEqual([undefined, undefined])
    const whole = { ...create(CapacitySchema), vcpus: 8, memMb: 1024n, diskGb: 100n }
    expect(buildReport(anInput({ capacity: whole })).capacity).toEqual(whole)
  })

  it('is made whatever is wrong with one VM, which it names', () => {
    const consoleEnd = (id: string) => {
      if (id === ID) throw new Error('too many symbolic links')
      return 5n
    }
    const results = new Map([
      [ID, undefined],
      [OTHER, undefined],
    ])
    const { vms, notices } = buildReport(anInput({ results, consoleEnd }))
    expect(vms).toMatchObject([
      { vmId: ID, consoleEnd: 0n },
      { vmId: OTHER, consoleEnd: 5n },
    ])
    expect(notices).toEqual([`VM ${ID} cannot be described (too many symbolic links).`])
  })

  it('says of each image for how long nothing referred to it, where that is counted', async () => {
    const image = { sha256: '1'.repeat(64), sizeBytes: 5 }
    const { images } = buildReport(anInput({ images: [{ ...image, unusedMs: 61_900 }, image] }))
    expect(images.map(({ unusedS }) => unusedS)).toEqual([61n, undefined])
  })

  it('carries what was measured of host and VMs, quarantined ones too, and the addresses that were looked up', async () => {
    const wanted = [aVm(), aVm({ vmId: OTHER, name: 'db' })]
    const then = [aVm(), aVm({ vmId: OTHER, name: 'db', tombstone: { graceS: 3600n } })]
    await using rig = await Rig.open()
    await rig.want(...wanted)
    await rig.want(...then)
    const { vms, quarantined } = rig.engine.report()
    expect([vms[0]?.metrics, quarantined[0]?.metrics]).toEqual([undefined, undefined])
    const metrics = { [ID]: { rssBytes: 5n }, [OTHER]: { diskUsedBytes: 7n } }
    await using measured = await Rig.open({
      measured: {
        host: () => create(HostMetricsSchema, { cpus: 4 }),
        vm: (id) => create(VmMetricsSchema, metrics[id] ?? {}),
        guestCidr: () => '10.77.1.0/24',
        uplink: () => '192.0.2.9',
      },
    })
    await measured.want(...wanted)
    await measured.want(...then)
    expect(measured.engine.report()).toMatchObject({
      metrics: { cpus: 4 },
      guestCidr: '10.77.1.0/24',
      hostUplinkAddr: '192.0.2.9',
      vms: [{ vmId: ID, metrics: { rssBytes: 5n } }],
      quarantined: [{ vmId: OTHER, metrics: { diskUsedBytes: 7n } }],
    })
  })

  it('tells of a VM that is off only its disk: what was measured of its process before is of one that is gone', async () => {
    const all = { rssBytes: 5n, pssBytes: 4n, cpuBusyPermille: 3, cpuTimeMs: 2n, diskUsedBytes: 7n }
    await using rig = await Rig.open({
      measured: {
        host: () => undefined,
        vm: () => create(VmMetricsSchema, all),
        guestCidr: () => '',
        uplink: () => '',
      },
    })
    await rig.want(aVm({ powerState: 'stopped' }), aVm({ vmId: OTHER, name: 'db' }))
    const told = (id: string) => rig.engine.report().vms.find((vm) => vm.vmId === id)?.metrics
    expect(told(ID)).toEqual(create(VmMetricsSchema, { diskUsedBytes: 7n }))
    expect(told(OTHER)).toEqual(create(VmMetricsSchema, all))
  })

  it('is made from every VM with a record, whose processes are named for measuring while they run', async () => {
    await using rig = await Rig.open()
    const identity = { pid: 4711, startTime: '9', bootId: 'boot-1' }
    rig.backend.running = async (vm) =>
      vm.id === ID ? { acceleration: 'tcg', startedAt: new Date(0), identity } : undefined
    await rig.want(aVm(), aVm({ vmId: OTHER, name: 'db', powerState: 'stopped' }))
    await rig.tick()
    expect(new Map(rig.engine.metered().map(({ id, process }) => [id, process]))).toEqual(
      new Map<string, unknown>([
        [ID, identity],
        [OTHER, undefined],
      ]),
    )
    expect(rig.engine.metered().find(({ id }) => id === ID)?.dir).toBe(dirname(rig.recordFile(ID)))
  })

  it('a quarantined VM carries its whole spec, readable without the row it came from', async () => {
    await using rig = await Rig.open()
    const change = { sshAuthorizedKeys: ['ssh-ed25519 K'], cloudInit: Buffer.from('#!/bin/sh\n') }
    const vm = aVm(change)
    await rig.want(vm)
    await rig.want(aVm({ ...change, tombstone: { graceS: 3600n } }))
    await rig.restart()
    const spec = JSON.parse(rig.quarantined()!.specJson)
    expect(spec).toMatchObject({ vmId: ID, name: 'web', memMb: 512, diskGb: 10, imageUrl: vm.imageUrl })
    const { tombstone: _, ...back } = fromJson(VmSpecSchema, spec)
    expect({ ...back, cloudInit: Buffer.from(back.cloudInit) }).toMatchObject({ ...vm })
  })

  it('has a row that is all unknown, never stopped, for a VM nobody has looked at yet', () => {
    const { vms } = buildReport(anInput({ results: new Map([[ID, undefined]]), consoleEnd: () => 7n }))
    expect(vms).toMatchObject([{ vmId: ID, detail: '', reason: '', ip: '', consoleEnd: 7n }])
    expect([vms[0]?.power, vms[0]?.phase]).toEqual([undefined, undefined])
  })
})
