import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { aHost, aHostClock, anImage, aTask, at, aVm } from './rows.ts'
import { clockScene, emptyScene } from './scenes.ts'
import { onboarding } from './shot-acts.ts'

const DAY = 24 * 3600_000

/** Every sort of thing that needs a person, four hosts with the same cause among them. */
export function pressingScene(now: number): FleetState {
  const fleet = clockScene(now)
  const lost = ['edge-2', 'edge-3', 'edge-4'].map((name) =>
    aHost({ name, link: 'unreachable', stale: true, vms: 3, lastSeenAt: at(now - 12 * 60_000) }),
  )
  const untold = aHost({ name: 'fresh-1', link: 'agent_missing', vms: 0 })
  delete untold.capacity
  delete untold.metrics
  const full = aHost({
    name: 'store-2',
    lastSeenAt: at(now),
    clock: aHostClock(now),
    upgradeAvailable: '0.2.0',
    metrics: { diskTotalBytes: 1_900_000_000_000n, diskFreeBytes: 21_000_000_000n },
  })
  fleet.hosts.push(...lost, untold, full)
  const [rack] = fleet.hosts
  fleet.vms.push(
    aVm({ hostId: rack!.id, hostName: rack!.name, name: 'stray', unowned: true, asOf: at(now) }),
    aVm({
      ...{ hostId: rack!.id, hostName: rack!.name, name: 'gate-1', asOf: at(now) },
      hostCertificate: { serial: '4711', caFingerprint: 'SHA256:x', validBefore: at(now + 3 * DAY) },
    }),
  )
  fleet.tasks.push(
    onboarding(now, 5),
    aTask({
      ...{ kind: 'sign_in', subject: 'build-4', state: 'asking', createdAt: at(now - 40_000) },
      steps: [{ name: 'Sign in', state: 'running' }],
    }),
  )
  return fleet
}

/** Two hosts on which everything is well. */
export function calmScene(now: number): FleetState {
  const fleet = emptyScene()
  const clock = aHostClock(now)
  const hosts = ['rack2-07', 'rack2-08'].map((name) => aHost({ name, clock, lastSeenAt: at(now), vms: 3 }))
  fleet.hosts = hosts
  fleet.vms = hosts.flatMap(({ id, name }, i) =>
    ['web', 'db', 'cache'].map((vm) =>
      aVm({
        ...{ hostId: id, hostName: name, name: `${vm}-${i + 1}`, asOf: at(now), startedAt: at(now - DAY) },
        hostCertificate: { serial: '4711', caFingerprint: 'SHA256:x', validBefore: at(now + 1500 * DAY) },
      }),
    ),
  )
  fleet.images = [anImage({ usedBy: 6 })]
  return fleet
}
