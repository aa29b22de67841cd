import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { hostScene } from './host-scene.ts'
import { networkScene } from './network-scene.ts'
import { portScene } from './port-scene.ts'
import { clockScene } from './scenes.ts'
import { trustScene } from './trust-scene.ts'
import { vmScene } from './vm-scene.ts'

/** One fleet with everything the other scenes have, its hosts not all as busy. */
export function wholeScene(now: number): FleetState {
  const scenes = [portScene, vmScene, networkScene, hostScene, trustScene]
  const fleet = scenes.reduce((made, scene) => scene(now, made), clockScene(now))
  for (const [i, { metrics }] of fleet.hosts.entries())
    if (metrics)
      Object.assign(metrics, {
        cpuBusyPermille: [318, 42, 236, 671, 12, 154, 83][i % 7],
        memAvailableBytes: [61, 118, 82, 24, 129, 97, 104].map((gb) => BigInt(gb) * 1_000_000_000n)[i % 7],
      })
  return fleet
}
