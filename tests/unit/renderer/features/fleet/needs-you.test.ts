import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { NetworkFindingSchema, NetworkSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/network_pb.js'
import type { Task } from '../../../../../src/ipc/gen/eitri/fleet/v1/task_pb.js'
import { type Ca, CaSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import type { Cause, FleetFacts } from '../../../../../src/renderer/features/fleet/need.ts'
import {
  CAUSES,
  groupName,
  groupNames,
  healthWords,
  isGroup,
  linesOf,
  needsOf,
} from '../../../../../src/renderer/features/fleet/needs-you.ts'
import { HOST_FILTER_FIELDS, hostFilterRecord } from '../../../../../src/renderer/features/hosts/host-filter.ts'
import { VM_FILTER_FIELDS, vmFilterRecord } from '../../../../../src/renderer/features/vms/view-model.ts'
import { type FilterRecord, matchesFilter, parseFilter } from '../../../../../src/renderer/lib/filter.ts'
import { parseRoute } from '../../../../../src/renderer/routes.ts'
import { aPort } from '../../../../support/fake-fleet/port-scene.ts'
import { aGuestClock, aHost, aHostClock, aTask, at, aVm } from '../../../../support/fake-fleet/rows.ts'

const NOW = Date.UTC(2026, 10, 30, 14, 2, 11)
const DAY = 24 * 3600_000
type Given = Partial<Omit<FleetFacts, 'nowMs'>>
const facts = (given: Given): FleetFacts => ({
  ...{ hosts: [], vms: [], tasks: [], ports: [], storeProblem: '', nowMs: NOW },
  ...given,
})
const needs = (given: Given) => needsOf(facts(given))
const host = (change: object): Given => ({ hosts: [aHost({ vms: 14, lastSeenAt: at(NOW - 120_000), ...change })] })
const vm = (change: object): Given => ({ vms: [aVm(change)] })
const fault = (code: string, params = {}) => ({ code, disposition: 'permanent', params, id: 'x' })
const free = (bytes: bigint) => ({ metrics: { diskTotalBytes: 1_000_000_000_000n, diskFreeBytes: bytes } })
const finding = (change: object) =>
  create(NetworkFindingSchema, { id: 'f', severity: 'blocks', effect: 'Guests reach nothing.', ...change })
const guest = (change: object) => ({ guest: { guestAgent: 'answering', modules: [], ...change } })
const ca = (change: object): Ca => create(CaSchema, { id: 'c', name: 'lab', state: 'signing', ...change })

/** One fleet for each cause, and the button its line has. */
const EXAMPLES: Record<Cause, [Given, label: string, act: string]> = {
  'store-damaged': [{ storeProblem: 'damaged' }, 'Review', 'open'],
  'store-full': [{ storeProblem: 'disk_full' }, 'Review', 'open'],
  'key-changed': [
    host({ link: 'key_changed', linkFault: fault('ssh/host-key-changed', { fingerprint: 'SHA256:x' }) }),
    'Compare keys',
    'compare-keys',
  ],
  'key-new': [
    host({ link: 'key_not_trusted', linkFault: fault('ssh/host-key-unknown', { fingerprint: 'SHA256:x' }) }),
    'Compare keys',
    'compare-keys',
  ],
  'task-asks': [{ tasks: [aTask({ kind: 'sign_in', state: 'asking' }) as Task] }, 'Answer', 'answer'],
  unreachable: [host({ link: 'unreachable' }), 'Try now', 'reconnect'],
  'newer-data': [host({ newerData: { epoch: 6n, hostEpoch: 7n } }), 'Decide', 'take-over'],
  'held-by-other': [host({ link: 'held_by_other' }), 'Take over', 'take-over'],
  'sign-in': [host({ link: 'sign_in_needed' }), 'Sign in', 'sign-in'],
  'identity-changed': [host({ link: 'identity_mismatch' }), 'See why', 'open'],
  'agent-missing': [host({ link: 'agent_missing' }), 'See why', 'open'],
  'agent-outdated': [
    host({ link: 'unreachable', linkFault: fault('agent/version-skew') }),
    'Update agent',
    'update-agent',
  ],
  'agent-behind': [host({ upgradeAvailable: '0.2.0' }), 'Update agent', 'update-agent'],
  'upgrade-failed': [
    host({ upgradeAvailable: '0.2.0', upgradeOutcome: { version: '0.2.0', state: 'rolled_back' } }),
    'See why',
    'open',
  ],
  'silent-agent': [host({ stale: true }), 'See agent', 'open'],
  'parts-missing': [host({ missing: ['qemu-utils'] }), 'See which', 'open'],
  'credential-ended': [host({ link: 'unreachable', credential: 'revoked' }), 'See how', 'open'],
  'credential-ending': [host({ credential: 'key', credentialEndsAt: at(NOW + 3 * DAY) }), 'See how', 'open'],
  'disk-full': [host(free(1_100_000_000n)), 'Review', 'open'],
  'disk-low': [host(free(60_000_000_000n)), 'Review', 'open'],
  'network-blocked': [host({ networkFindings: [finding({})] }), 'Review', 'open'],
  'network-down': [host({ networks: [create(NetworkSchema, { name: 'guests', state: 'down' })] }), 'Review', 'open'],
  'app-clock': [host({ clock: aHostClock(NOW, { wrong: 'app', appOffsetUs: -41_000_000n }) }), 'See clocks', 'open'],
  'host-clock': [host({ clock: aHostClock(NOW, { wrong: 'host', appOffsetUs: 41_000_000n }) }), 'See clocks', 'open'],
  'clock-unkept': [host({ clock: aHostClock(NOW, { state: 'not_synchronised' }) }), 'See clocks', 'open'],
  'guest-clock': [vm({ clock: aGuestClock(-41_200, NOW) }), 'Re-sync', 'resync'],
  'vm-decision': [vm({ phase: 'failed', reason: 'vm/crash-loop' }), 'Decide', 'open'],
  'vm-crashed': [vm({ power: 'stopped', reason: 'vm/exited' }), 'Open console', 'open'],
  'vm-paused': [vm({ power: 'paused', reason: 'vm/io-error' }), 'See why', 'open'],
  'vm-start-failed': [vm({ phase: 'failed', reason: 'vm/start-failed' }), 'See why', 'open'],
  'vm-stop-failed': [vm({ phase: 'failed', reason: 'vm/stop-failed' }), 'See why', 'open'],
  'vm-no-room': [vm({ phase: 'failed', reason: 'vm/over-capacity' }), 'See why', 'open'],
  'vm-trouble': [vm({ reason: 'vm/hung' }), 'See why', 'open'],
  'payload-failed': [vm(guest({ fleetPayload: 'not_applied' })), 'See errors', 'open'],
  unowned: [vm({ unowned: true }), 'Adopt', 'adopt'],
  'port-failed': [
    { ports: [aPort(aVm(), { state: 'failed', reason: 'Port 8443 is used by nginx.' })] },
    'Review',
    'open',
  ],
  'ca-unusable': [{ cas: [ca({ problem: 'Its key file cannot be read.' })] }, 'Review', 'open'],
  'certificate-ended': [vm({ hostCertificate: { serial: '1', validBefore: at(NOW - DAY) } }), 'Review', 'open'],
  'certificate-ending': [vm({ hostCertificate: { serial: '1', validBefore: at(NOW + DAY) } }), 'Review', 'open'],
  'revocations-failed': [vm({ trust: { revocations: 'failed', detail: 'no space' } }), 'See why', 'open'],
}

describe('what needs a person', () => {
  it.each(Object.entries(EXAMPLES))('%s is one line with one button', (cause, [given, label, act]) => {
    expect(needs(given).map((one) => [one.cause, CAUSES[one.cause].label, one.act.kind])).toEqual([[cause, label, act]])
  })

  it.each(Object.entries(EXAMPLES))('%s, when many have it, leads to a list that has them all', (cause, [given]) => {
    const route = parseRoute(CAUSES[cause as Cause].all)
    const rows = { hosts: given.hosts ?? [], vms: given.vms ?? [] }
    const found = (filter: string, fields: readonly string[], record: FilterRecord) =>
      matchesFilter(record, parseFilter(filter, fields))
    if (route.page === 'hosts')
      for (const one of rows.hosts)
        expect(found(route.filter, HOST_FILTER_FIELDS, hostFilterRecord(one, NOW)), route.filter).toBe(true)
    if (route.page === 'vms')
      for (const one of rows.vms) expect(found(route.filter, VM_FILTER_FIELDS, vmFilterRecord(one, NOW))).toBe(true)
  })

  it('is nothing in a fleet that is well, works on something, or mends itself', () => {
    const calm: Given = {
      hosts: [aHost({ clock: aHostClock(NOW) }), aHost({ link: 'connecting' })],
      vms: [
        aVm({ clock: aGuestClock(2, NOW), ...guest({ fleetPayload: 'applied', cloudInit: 'done' }) }),
        aVm({ power: 'stopped', desiredPower: 'stopped' }),
        aVm({ power: 'stopped', phase: 'failed', reason: 'vm/powered-off' }),
        aVm({ deletedAt: at(NOW - DAY), phase: 'failed', reason: 'vm/crash-loop' }),
        aVm({ hostCertificate: { serial: '1', validBefore: at(NOW + 400 * DAY) } }),
      ],
      tasks: [aTask({ state: 'running' }) as Task, aTask({ state: 'failed' }) as Task],
      ports: [aPort(aVm(), { state: 'waiting' })],
      cas: [ca({}), ca({ state: 'trusted', problem: 'gone' })],
    }
    expect(needs(calm)).toEqual([])
  })

  it('is a host that is tried again after a failure, and none that is tried for the first time', () => {
    const causes = (link: object) => needs(host({ link: 'connecting', ...link })).map(({ cause }) => cause)
    expect(causes({})).toEqual([])
    expect(causes({ linkFault: fault('host/unreachable') })).toEqual(['unreachable'])
  })

  it('says nothing of VMs and ports whose host does not answer: they are unknown, and the host says so once', () => {
    const [down] = host({ link: 'unreachable' }).hosts!
    const lost = aVm({ hostUnknown: true, phase: 'failed', reason: 'vm/crash-loop' })
    const given = { hosts: [down!], vms: [lost], ports: [aPort(lost, { state: 'failed', hostUnknown: true })] }
    expect(needs(given).map(({ cause, more }) => [cause, more])).toEqual([
      ['unreachable', 'Last seen 2 min ago. 14 VMs are unknown, not stopped.'],
    ])
  })

  it('takes what a silent host last said of its disk, network and clock for nothing', () => {
    const old = { stale: true, ...free(1n), networkFindings: [finding({})], clock: aHostClock(NOW, { wrong: 'host' }) }
    expect(needs(host(old)).map(({ cause }) => cause)).toEqual(['silent-agent'])
  })

  it('opens the page of a host that was offered no key a person may accept', () => {
    expect(needs(host({ link: 'key_changed' }))[0]?.act).toMatchObject({ kind: 'open' })
  })

  it('leaves the clock of a guest to whom its policy leaves it, and still says it is off', () => {
    const off = { clock: aGuestClock(-41_200, NOW), clockPolicy: 'none' }
    expect(needs(vm(off))[0]).toMatchObject({ cause: 'guest-clock', act: { kind: 'open' } })
  })

  it('says how far a clock is off and what that breaks', () => {
    expect(needs(vm({ clock: aGuestClock(-41_200, NOW) }))[0]?.more).toBe(
      '41.2 s behind its host. This breaks one-time sign-in codes (TOTP).',
    )
  })
})

describe('the list', () => {
  const unreachable = (name: string) => aHost({ name, link: 'unreachable' })

  it('has the most pressing first, then goes by name', () => {
    const given = {
      hosts: [aHost({ name: 'b', upgradeAvailable: '2' }), unreachable('z'), unreachable('a')],
      vms: [aVm({ name: 'looper', phase: 'failed', reason: 'vm/crash-loop' })],
    }
    expect(needs(given).map(({ object }) => object.name)).toEqual(['a', 'z', 'looper', 'b'])
  })

  it('tells three with one cause by name and more of them in one line', () => {
    const [three, four] = [3, 4].map((n) => linesOf(needs({ hosts: 'abcd'.slice(0, n).split('').map(unreachable) })))
    expect(three!.map(isGroup)).toEqual([false, false, false])
    const [line] = four!
    expect(four).toHaveLength(1)
    expect(line && isGroup(line) && [groupName(line), groupNames(line)]).toEqual(['4 hosts', 'a, b, c and 1 more'])
  })

  it('has a different key for every line', () => {
    const many = needs({ hosts: [unreachable('a'), unreachable('b'), aHost({ missing: ['x'], stale: true })] })
    expect(new Set(many.map(({ key }) => key)).size).toBe(many.length)
  })
})

describe('the health sentence', () => {
  it.each([
    [{ answering: 46, all: 48 }, 3, '46 of 48 hosts answering · 3 things need you'],
    [{ answering: 48, all: 48 }, 0, 'All 48 hosts answering · nothing needs you'],
    [{ answering: 2, all: 2 }, 0, 'Both hosts answering · nothing needs you'],
    [{ answering: 1, all: 1 }, 1, 'Your host is answering · 1 thing needs you'],
    [{ answering: 0, all: 1 }, 0, 'Your host is not answering · nothing needs you'],
  ])('%o and %i is "%s"', (hosts, count, words) => expect(healthWords(hosts, count)).toBe(words))
})
