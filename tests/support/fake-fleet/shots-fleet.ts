import type { Shot } from './shot-list.ts'
import { busyScene, clockScene } from './scenes.ts'
import { calmScene, pressingScene } from './fleet-scene.ts'

/** The first page: what needs a person, capacity, what goes on. */
export const FLEET_SHOTS: Shot[] = [
  { name: 'f0-fleet', path: '/', scene: pressingScene, size: { width: 1280, height: 1300 } },
  { name: 'f1-fleet-dark', path: '/', scene: pressingScene, dark: true, size: { width: 1280, height: 1300 } },
  { name: 'f2-fleet-calm', path: '/', scene: calmScene },
  { name: 'f3-fleet-narrow', path: '/', scene: clockScene, size: { width: 720, height: 1200 } },
  { name: 'f4-fleet-zoomed', path: '/', scene: busyScene, dark: true, size: { width: 640, height: 900 } },
]
