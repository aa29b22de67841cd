import type { Page } from 'playwright-core'
import type { FleetState } from '../../../src/ipc/gen/eitri/fleet/v1/fleet_pb.js'
import { hrefOf, type Route } from '../../../src/renderer/routes.ts'
import { everyRoute } from './every-place.ts'
import { emptyScene } from './scenes.ts'
import { SHOTS, type Shot } from './shot-list.ts'
import { wholeScene } from './whole-scene.ts'

/** A screen as it is shown in `docs/screens`. */
export interface Screen extends Pick<Shot, 'scene' | 'path' | 'act' | 'serial' | 'settleMs'> {
  name: string
  /** What the list of screens says of it. */
  says: string
  /** Reached by its address alone, in a window that was elsewhere. */
  isPlace?: boolean
}

const nameOf = (route: Route) =>
  route.page + ('tab' in route ? `-${route.tab}` : 'part' in route ? `-${route.part}` : '')

const live = async (page: Page) => {
  await page.getByText('Live').first().waitFor()
  await page.waitForTimeout(500)
}

const shotNamed = (name: string): Shot => {
  const shot = SHOTS.find((one) => one.name === name)
  if (!shot) throw new Error(`no shot is named ${name}`)
  return shot
}

const drawn = async (page: Page) => {
  await page.locator('main canvas').first().waitFor()
}

const ACTS: Partial<Record<string, NonNullable<Shot['act']>>> = {
  'host-overview': drawn,
  'vm-overview': drawn,
  'vm-clock': drawn,
  'vm-console': live,
  consoles: shotNamed('c0-workspace').act ?? live,
}

/** Every place of the app, each part of a host and of a VM among them. */
function places(state: FleetState): Screen[] {
  return everyRoute(state).map((route) => {
    const name = nameOf(route)
    const act = ACTS[name]
    return {
      name,
      says: '',
      path: hrefOf(route).slice(1),
      scene: wholeScene,
      isPlace: name !== 'consoles',
      ...(act ? { act } : {}),
    }
  })
}

const like = (name: string, shot: string, says: string, change: Partial<Screen> = {}): Screen => ({
  ...shotNamed(shot),
  name,
  says,
  ...change,
})

const down =
  (act: Shot['act']): NonNullable<Shot['act']> =>
  async (page, fleet, consoles) => {
    await act?.(page, fleet, consoles)
    await page.getByRole('list', { name: 'Findings in the user-data' }).scrollIntoViewIfNeeded()
  }

/** What opens over a place, or what a place is before and after its usual state. */
const STATES: Screen[] = [
  { name: 'first-run', says: 'the first start', path: '/', scene: emptyScene },
  like('add-host-steps', 'h63-add-steps', 'a host is being added; its key is signed by a known authority'),
  like('add-host-failed', 'h64-add-failed', 'nobody could sign in there'),
  like('add-host-key-new', 'h66-key-new', 'a host key nobody has seen', { settleMs: 1300 }),
  like('add-host-key-changed', 'h67-key-changed', 'a host key that is not the one of last time'),
  like('create-vm-findings', '34-create-user-data', 'what a guest would make of bad user-data', {
    act: down(shotNamed('34-create-user-data').act),
  }),
  like('create-vm-form', '37-create-form', 'the same text as a form'),
  like('create-vm-first', 'n1-waiting', 'the first host has no KVM, and no image yet'),
  like('vms-tree', 'v05-tree', 'VMs by their hosts'),
  like('vms-bulk-stop', 'v08-bulk-stop', 'what is going to happen to many VMs'),
  like('vms-bulk-running', 'v11-bulk-running', 'many VMs being deleted'),
  like('vm-delete', '45-delete-sheet', 'deleting moves to quarantine'),
  like('vm-purge', '47-purge-dark', 'the one way without a way back'),
  like('vm-sheet-gone', 'v24-sheet-gone', 'the VM left while a sheet about it stood open'),
  like('vm-console-log', 'n3-read-log', 'the log a host keeps of a console'),
  like('consoles-broadcast', 'c4-broadcast-many', 'typing goes to several consoles'),
  like('consoles-empty', 'cc-empty', 'no console is open'),
  like('trust-rotation', 't07-rotate', 'changing to another authority'),
  like('activity-tasks', 'ac5-tasks', 'what runs and ran'),
  like('palette', '71-palette', 'the command palette'),
  like('drawer', 's5-drawer-vm', 'details beside a list'),
  like('bell', 's9-bell', 'what happened meanwhile'),
  like('keys', 'se-keys', 'the keyboard map'),
]

/** All screens, the places first. */
export const screenList = (now: number): Screen[] => [...places(wholeScene(now)), ...STATES]
