import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { HostSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import { NetworkFindingSchema, NetworkSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/network_pb.js'
import {
  addressRows,
  asOfWords,
  findingState,
  findingsOf,
  foundWords,
  hostsInOrder,
  kindWords,
  networkState,
} from '../../../../../src/renderer/features/networks/view-model.ts'

const NOW = Date.UTC(2026, 0, 2, 12)
const network = (change: MessageInitShape<typeof NetworkSchema> = {}) =>
  create(NetworkSchema, { name: 'guests', kind: 'nat', state: 'ready', ...(change as object) })
const finding = (id: string, severity: string, mended = false) =>
  create(NetworkFindingSchema, { id, severity, mended, what: 'x', effect: 'y' })
const host = (change: MessageInitShape<typeof HostSchema> = {}) =>
  create(HostSchema, { name: 'rack', link: 'connected', ...(change as object) })

describe('a network on the screen', () => {
  it.each([
    ['ready', 'Ready', 'good'],
    ['degraded', 'Limited', 'warn'],
    ['down', 'Down', 'bad'],
    ['', 'Unknown', 'unknown'],
    ['later', 'Unknown', 'unknown'],
  ])('in the state %j is %s', (state, word, tone) => {
    expect(networkState(network({ state, detail: 'why' }))).toEqual({ word, tone, detail: 'why' })
  })

  it('is told by its kind, and by none when the host did not tell one', () => {
    const kinds = ['nat', 'user', 'system', 'operator', ''].map((kind) => kindWords(network({ kind })))
    expect(new Set(kinds).size).toBe(5)
    expect(kinds.at(-1)).toBe('not told')
  })

  it('has a row for each VM by name, with where its address is known from and how old that is', () => {
    const rows = addressRows(
      network({
        addresses: [
          { vmId: 'b'.repeat(32), vmName: 'web', mac: '52:54:00:00:00:02', ip: '', source: '' },
          { vmId: 'c'.repeat(32), mac: '52:54:00:00:00:03', ip: '10.0.0.3', source: 'reservation' },
          {
            ...{ vmId: 'a'.repeat(32), vmName: 'db', mac: '52:54:00:00:00:01', ip: '10.0.0.1', source: 'dhcp' },
            seenAt: timestampFromMs(NOW - 180_000),
          },
        ],
      }),
      NOW,
    )
    expect(rows.map(({ name, ip, source }) => [name, ip, source])).toEqual([
      ['db', '10.0.0.1', "answer of the network's DHCP server, seen 3 min ago"],
      ['not in this fleet (cccccccc)', '10.0.0.3', 'reserved for it'],
      ['web', '', ''],
    ])
    expect(rows.map(({ vmId }) => vmId !== '')).toEqual([true, false, true])
  })
})

describe('findings on the screen', () => {
  it('are shown worst first and the mended last, each with one word', () => {
    const networkFindings = [finding('m', 'blocks', true), finding('w', 'warns'), finding('b', 'blocks')]
    const shown = findingsOf(host({ networkFindings }))
    expect(shown.map(({ id }) => id)).toEqual(['b', 'w', 'm'])
    expect(shown.map((one) => findingState(one).word)).toEqual(['Blocks guests', 'Warning', 'Mended'])
  })

  it('bring their host to the top, and keep it there once mended; a host that told nothing comes last', () => {
    const hosts = [
      host({ name: 'a' }),
      host({ name: 'd', networks: [network()] }),
      host({ name: 'c', networkFindings: [finding('b', 'blocks')] }),
      host({ name: 'b', networkFindings: [finding('m', 'blocks', true)] }),
    ]
    expect(hostsInOrder(hosts).map(({ name }) => name)).toEqual(['b', 'c', 'd', 'a'])
  })

  it('are summed up in one sentence', () => {
    expect(foundWords('rack', [finding('m', 'blocks', true)])).toBe('Nothing keeps guests of rack from their network')
    expect(foundWords('rack', [finding('a', 'blocks'), finding('b', 'warns'), finding('c', 'warns')])).toBe(
      'rack: 1 thing blocks guests, 2 warnings',
    )
  })
})

describe('networks of a host that is away', () => {
  it('say when they were last told, and nothing where nothing was', () => {
    const lastSeenAt = timestampFromMs(NOW)
    const away = { link: 'unreachable', lastSeenAt, networks: [network()] }
    expect(asOfWords(host(away), NOW)).toMatch(/^as of \d\d:\d\d$/)
    expect(asOfWords(host({ ...away, link: 'connected' }), NOW)).toBe('')
    expect(asOfWords(host({ ...away, networks: [] }), NOW)).toBe('')
  })
})
