import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { hostScene } from './host-scene.ts'
import { networkScene } from './network-scene.ts'
import { portScene } from './port-scene.ts'
import { clockScene } from './scenes.ts'
import { trustScene } from './trust-scene.ts'
import { vmScene } from './vm-scene.ts'

/** One fleet with everything the other scenes have. */
export const wholeScene = (now: number): FleetState =>
  [portScene, vmScene, networkScene, hostScene, trustScene].reduce((fleet, scene) => scene(now, fleet), clockScene(now))
