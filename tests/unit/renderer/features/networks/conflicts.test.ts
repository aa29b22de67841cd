import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { NetworkSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/network_pb.js'
import { conflictsOf } from '../../../../../src/renderer/features/networks/conflicts.ts'

const network = (name: string, cidr: string, held: [ip: string, mac: string, vmName?: string][] = []) =>
  create(NetworkSchema, { name, cidr, addresses: held.map(([ip, mac, vmName = '']) => ({ ip, mac, vmName })) })
const whats = (...networks: ReturnType<typeof network>[]) =>
  conflictsOf({ name: 'rack', networks }).map(({ what }) => what)

describe('conflicts of a host', () => {
  it('are addresses that two machines hold', () => {
    const held = network('guests', '10.77.0.0/24', [
      ['10.77.0.2', 'a', 'web'],
      ['10.77.0.2', 'b', 'db'],
      ['10.77.0.3', 'c'],
    ])
    expect(whats(held)).toEqual(['web and db both have 10.77.0.2 on guests.'])
  })

  it('are not one machine that is told of twice, nor addresses that are not known yet', () => {
    expect(
      whats(
        network('guests', '', [
          ['10.77.0.2', 'a'],
          ['10.77.0.2', 'a'],
          ['', 'b'],
          ['', 'c'],
        ]),
      ),
    ).toEqual([])
  })

  it('are networks that overlap', () => {
    expect(
      whats(network('guests', '10.77.0.0/16'), network('lab', '10.77.4.0/24'), network('lan', '192.168.1.0/24')),
    ).toEqual(['guests (10.77.0.0/16) and lab (10.77.4.0/24) overlap on rack.'])
  })
})
