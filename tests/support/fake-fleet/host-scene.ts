import { create } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import { Fault } from '../../../src/ipc/faults.ts'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import {
  type DrainHostRequest,
  type ShowSshRequest,
  type UpdateHostRequest,
  type UpgradeHostRequest,
  UpgradeOutcomeSchema,
} from '../../../src/ipc/gen/eitri/fleet/v1/host_pb.js'
import type { CollectImagesRequest } from '../../../src/ipc/gen/eitri/fleet/v1/image_pb.js'
import type { FakeFleet } from './fake-fleet.ts'
import { aHost, aHostClock, aTask, at } from './rows.ts'
import { busyScene } from './scenes.ts'

const MIN = 60_000
const DAY = 24 * 60 * MIN

/** The busy fleet with hosts that are drained, outdated, labelled, joined and short of programs. */
export function hostScene(now: number, fleet = busyScene(now)): FleetState {
  const [rack, local, edge] = fleet.hosts
  if (rack)
    Object.assign(rack, {
      labels: { rack: '2', prod: '' },
      bootId: '5f0c1d2e3b4a59687786950a1b2c3d4e',
      uplinkAddress: '10.0.2.7',
      guestCidr: '10.20.0.0/24',
      clock: aHostClock(now),
      secretsKept: 'keychain',
      sshClient: 'ssh2',
      credential: 'login',
      reportedEpoch: 7n,
      upgradeOutcome: create(UpgradeOutcomeSchema, { version: '0.1.0', state: 'done', at: at(now - 3 * DAY) }),
    })
  if (local) Object.assign(local, { labels: { lab: '' }, clock: aHostClock(now, { state: 'not_synchronised' }) })
  if (edge) Object.assign(edge, { labels: { edge: '' }, clock: aHostClock(now - 7 * MIN, { stale: true }) })
  fleet.hosts.push(
    aHost({
      name: 'rack2-08',
      address: 'ops@10.0.2.8:22',
      lastSeenAt: at(now),
      draining: 'stop',
      labels: { rack: '2' },
      agentVersion: '0.0.9',
      upgradeAvailable: '0.1.0',
      clock: aHostClock(now),
      credential: 'login',
      missing: ['qemu-img', 'nft'],
      allocated: { vcpus: 56, memMb: 98_304n, diskGb: 900n },
    }),
    aHost({
      name: 'colo-1',
      address: 'eitri@colo-1.example:22',
      lastSeenAt: at(now),
      credential: 'key',
      credentialEndsAt: at(now + 9 * DAY),
      labels: { colo: '' },
      agentVersion: '0.0.9',
      upgradeAvailable: '0.1.0',
      upgradeOutcome: {
        version: '0.1.0',
        state: 'rolled_back',
        detail: 'it did not answer within 30 s',
        at: at(now - 20 * MIN),
      },
      sshClient: 'openssh',
      sshClientDetail: 'a hardware key (sk-ssh-ed25519) signs in there',
      carrier: 'stdio',
      clock: aHostClock(now, { wrong: 'host', appOffsetUs: -3_000_000n }),
      notices: ['Its clock steps back about once an hour.'],
    }),
  )
  return fleet
}

/** What hosts are asked between being added and being removed. */
export const hostActs = (fleet: FakeFleet) => ({
  updateHost: ({ host: ref, name, labels, removeLabels }: UpdateHostRequest) => {
    const host = fleet.host(ref)
    if (name) host.name = name
    const kept = Object.entries(host.labels).filter(([key]) => !removeLabels.includes(key))
    host.labels = { ...Object.fromEntries(kept), ...labels }
    fleet.tell({ hosts: [host] })
    return { host }
  },
  drainHost: ({ host: ref, drain, stopVms }: DrainHostRequest) => {
    const host = fleet.host(ref)
    host.draining = drain ? (stopVms ? 'stop' : 'leave') : ''
    fleet.tell({ hosts: [host] })
    return { host, stopping: [], leftRunning: [] }
  },
  upgradeHost: ({ host: ref }: UpgradeHostRequest) => {
    const task = aTask({ kind: 'upgrade_host', subject: fleet.host(ref).name })
    fleet.tell({ tasks: [task] })
    return { task }
  },
  createJoinBlob: () => ({
    blob: `eitri1.${'eyJ2IjoxLCJmbGVldCI6ImYwZjBmMGYwIiwia2V5Ijoic3NoLWVkMjU1MTkg'.repeat(4)}`,
    expiresAt: timestampFromMs(Date.now() + 15 * MIN),
  }),
  revokeHost: () => ({}),
  forgetHostSecrets: () => ({}),
  showSsh: ({ host, ssh, runMatchExec }: ShowSshRequest) => {
    const typed = ssh?.host ?? ''
    if (typed.startsWith('broken'))
      throw new Fault('ssh/config-invalid', 'permanent', {
        host: typed,
        detail: '/home/ada/.ssh/config line 12: Bad option',
      })
    if (typed.startsWith('exec') && !runMatchExec) return { matchExec: true }
    const name = host === '' ? typed : fleet.host(host).name
    return {
      ...{ address: '10.0.2.7', port: 2222, user: 'ops', jump: ['ops@bastion-1'], hostKeyName: '10.0.2.7' },
      identityFiles: ['/home/ada/.ssh/id_ed25519'],
      identityAgent: '/run/user/1000/ssh-agent.socket',
      knownHostsFiles: ['/home/ada/.ssh/known_hosts'],
      ...{ sshClient: 'ssh2', command: `ssh -p 2222 -J ops@bastion-1 ops@${name}` },
      hostKeys:
        host === ''
          ? []
          : [
              {
                keyType: 'ssh-ed25519',
                fingerprint: fleet.host(host).hostKeyFingerprint,
                how: 'accepted',
                firstSeen: timestampFromMs(Date.now() - 270 * DAY),
              },
            ],
    }
  },
})

/** A cache with something in it that may go. */
export const collectOnce =
  (fleet: FakeFleet) =>
  ({ host: ref, all, dryRun }: CollectImagesRequest) => {
    const asked = ref === '' ? fleet.state.hosts : [fleet.host(ref)]
    const item = (sha: string, names: string[], size: bigint, reason: string, vms: string[] = []) => ({
      ...{
        sha256: sha.repeat(64),
        names,
        sizeBytes: size,
        whole: true,
        reason,
        vms,
        unusedS: vms.length ? 0n : 950_000n,
      },
    })
    const free = item('4', ['debian-11'], 410_000_000n, all ? 'asked' : 'recent')
    const gone = [item('3', [], 612_000_000n, 'age'), ...(all ? [free] : [])]
    const kept = [
      item('1', ['debian-12'], 337_600_000n, 'in_use', ['web-12', 'web-13', 'db-3']),
      item('2', ['tiny'], 24_600_000n, 'in_use', ['ci-runner-7']),
      ...(all ? [] : [free]),
    ]
    const freed = dryRun ? 0n : 612_000_000n
    return {
      hosts: asked.map(({ id, name }) => ({
        hostId: id,
        hostName: name,
        removed: gone,
        kept,
        freeBytes: 1_310_000_000_000n + freed,
        lowBytes: 95_000_000_000n,
      })),
    }
  }
