import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs, timestampNow } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Fault } from '../../../src/ipc/faults.ts'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import {
  type Ca,
  CaSchema,
  CertificateSchema,
  RevokedCertificateSchema,
  type TrustService,
} from '../../../src/ipc/gen/eitri/fleet/v1/trust_pb.js'
import { busyScene } from './scenes.ts'
import { someCas } from './vm-scene.ts'

const MIN = 60_000
const DAY = 86_400_000
const NEXT = `SHA256:${'n'.repeat(43)}`
const [PEOPLE = '', GUESTS = ''] = someCas().map(({ fingerprint }) => fingerprint)
const print = (letter: string) => `SHA256:${letter.repeat(43)}`
const ca = (change: MessageInitShape<typeof CaSchema> & { name: string }): Ca =>
  create(CaSchema, {
    ...{ id: change.name, kind: 'user', held: 'keychain', state: 'trusted' },
    publicKey: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${change.name} ${change.name}`,
    createdAt: timestampFromMs(Date.now() - 400 * DAY),
    ...change,
  })

/** Authorities in the middle of a rotation: the new one is there, two thirds of the guests trust it. */
const rotatingCas = (): Ca[] => [
  ...firstCas().map((one) => ({ ...one, usedBy: 14 })),
  ca({ name: 'people-2026', fingerprint: NEXT, usedBy: 9, createdAt: timestampFromMs(Date.now() - 3 * DAY) }),
  ca({ name: 'office-ca', fingerprint: print('o'), held: 'elsewhere', usedBy: 2 }),
  ca({
    ...{ name: 'lab-ca', kind: 'host', fingerprint: print('l'), held: 'file', usedBy: 0 },
    problem: 'Its file is sealed with a passphrase that was not typed.',
  }),
  ca({
    name: 'first-ca',
    fingerprint: print('f'),
    state: 'retired',
    retiredAt: timestampFromMs(Date.now() - 30 * DAY),
  }),
]

const firstCas = (): Ca[] => someCas().map((one) => ({ ...one, createdAt: timestampFromMs(Date.now() - 420 * DAY) }))

/** Two authorities as they are made at the first start, and more where there are VMs. */
export const casOf = ({ vms }: FleetState): Ca[] => (vms.length === 0 ? firstCas() : rotatingCas())

export interface TrustFacts {
  cas: Ca[]
  state: FleetState
}

/** Answers about trust from the VMs of the fleet and its authorities; changes stay. */
export function fakeTrust(facts: TrustFacts): ServiceImpl<typeof TrustService> {
  const now = Date.now()
  const isRotating = () => facts.cas.length > 2
  const get = (ref: string) => {
    const found = facts.cas.find(({ id, name }) => id === ref || name === ref)
    if (!found) throw new Fault('ca/not-found', 'permanent', { ca: ref })
    return found
  }
  const live = () => facts.state.vms.filter(({ deletedAt, unowned }) => !deletedAt && !unowned)
  const add = (name: string, kind: string) => {
    if (facts.cas.some((one) => one.name === name)) throw new Fault('ca/name-taken', 'conflict', { ca: name, kind })
    const made = ca({ name, kind, fingerprint: print('x'), createdAt: timestampNow() })
    facts.cas = [...facts.cas, made]
    return { ca: made, created: true }
  }
  const certificates = () =>
    live().flatMap((vm, i) => [
      create(CertificateSchema, {
        ...{ serial: `90071992547${1000 + i}`, kind: 'host', caFingerprint: GUESTS, vmId: vm.id },
        ...{ keyId: vm.name, principals: [`${vm.name}.eitri`], keyFingerprint: print('k') },
        ...{ validAfter: timestampFromMs(now - 20 * DAY), validBefore: timestampFromMs(now + (70 - 9 * i) * DAY) },
        issuedAt: timestampFromMs(now - 20 * DAY),
      }),
      ...(i < 4
        ? [
            create(CertificateSchema, {
              ...{ serial: `81235${2000 + i}`, kind: 'user', caFingerprint: PEOPLE, vmId: vm.id },
              ...{ keyId: `login to ${vm.name}`, principals: ['root'], keyFingerprint: print('p') },
              validAfter: timestampFromMs(now + [-2, -28, 9, -12][i]! * MIN),
              validBefore: timestampFromMs(now + [28, 2, 39, 18][i]! * MIN),
              issuedAt: timestampFromMs(now - i * MIN),
              ...(i === 3 ? { revokedAt: timestampFromMs(now - 2 * MIN) } : {}),
            }),
          ]
        : []),
    ])
  const revoked = () =>
    ['812352003', '77411', '99182'].map((serial, i) =>
      create(RevokedCertificateSchema, {
        ...{ serial, caFingerprint: i === 1 ? '' : PEOPLE, reason: ['laptop lost', '', 'left the team'][i]! },
        revokedAt: timestampFromMs(now - (2 + i * 4000) * MIN),
      }),
    )
  return {
    listCas: () => ({ cas: facts.cas }),
    createCa: ({ name, kind }) => add(name, kind),
    importCa: ({ name, kind }) => add(name, kind),
    setSigningCa: ({ ca: ref }) => {
      const next = get(ref)
      facts.cas = facts.cas.map((one) =>
        one.kind !== next.kind || one.state === 'retired'
          ? one
          : { ...one, state: one.id === next.id ? 'signing' : 'trusted' },
      )
      return { ca: get(ref) }
    },
    retireCa: ({ ca: ref }) => {
      const gone = get(ref)
      facts.cas = facts.cas.map((one) => (one.id === gone.id ? { ...one, state: 'retired' } : one))
      return { ca: get(ref), cutOff: [] }
    },
    issueCertificate: ({ vm }) => ({
      certificate: `ssh-ed25519-cert-v01@openssh.com ${'AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29t'.repeat(6)} you@laptop`,
      issued: certificates().find(({ kind }) => kind === 'user')!,
      sshName: vm === '' ? '' : `${vm}.eitri`,
      knownHosts: vm === '' ? [] : ['@cert-authority *.eitri ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI'],
    }),
    listCertificates: () => ({ certificates: isRotating() ? certificates() : [] }),
    revokeCertificate: ({ serial, reason }) => ({ revoked: { serial, reason, revokedAt: timestampNow() } }),
    listRevoked: () => (isRotating() ? { revoked: revoked(), krlSha256: '3fa9c1'.repeat(10) } : {}),
    listTrust: () => ({
      vms: live().map((vm, i) => ({
        ...{ vmId: vm.id, vmName: vm.name, hostCa: i === 5 ? '' : GUESTS },
        userCas: i === 6 ? [] : i % 3 === 0 || !isRotating() ? [PEOPLE] : [PEOPLE, NEXT],
        ...(i === 5 ? {} : { hostCertificateEndsAt: timestampFromMs(now + (70 - 9 * i) * DAY) }),
        revocations: ['current', 'current', 'older', 'failed', '', 'unreachable'][i % 6]!,
        detail: i % 6 === 3 ? 'The guest tools did not write the file: the disk of the guest is full.' : '',
        cutOff: i === 6,
      })),
    }),
  }
}

/** The busy fleet with keys of every sort. */
export function trustScene(now: number, fleet = busyScene(now)): FleetState {
  for (const [i, host] of fleet.hosts.entries())
    if (host.kind === 'ssh') host.hostKeyFingerprint ||= i === 3 ? '' : print('abcdefgh'[i % 8]!)
  return fleet
}
