import { clone } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { Fault } from '../../../../../src/ipc/faults.ts'
import { type VmSpec, VmSpecSchema } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { IDS, newVm, type Referee } from './referee.ts'
import { HELD, type World } from './world.ts'

/** One thing that happens, to the host or to what is wanted of it. */
class Step implements fc.AsyncCommand<Referee, World> {
  readonly #name: string
  readonly #act: (referee: Referee, world: World) => Promise<void>
  readonly #when: (referee: Referee, world: World) => boolean

  constructor(
    name: string,
    act: (referee: Referee, world: World) => Promise<void>,
    when: (referee: Referee, world: World) => boolean = () => true,
  ) {
    this.#name = name
    this.#act = act
    this.#when = when
  }
  check = (referee: Readonly<Referee>) => this.#when(referee as Referee, referee.world)
  async run(referee: Referee, world: World): Promise<void> {
    await this.#act(referee, world)
    await referee.judge()
    if (referee.broken.length > 0) throw new Error(referee.broken.join('\n'))
  }
  toString = () => this.#name
}

export const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
/** One VM more often than the others: what goes wrong takes several steps with the same one. */
const vms = fc.constantFrom(...IDS, IDS[0]!, IDS[0]!, IDS[0]!)
const actions = fc.constantFrom(...HELD, ...(['boot', 'shutdown', 'destroy'] as const))

function changed(spec: VmSpec | undefined, change: (spec: VmSpec) => void): VmSpec | undefined {
  if (!spec) return undefined
  const next = clone(VmSpecSchema, spec)
  change(next)
  return next
}

/** Changes of a VM that is wanted; nothing happens to one that is not. */
const EDITS: Record<string, (spec: VmSpec) => void> = {
  start: (spec) => {
    spec.powerState = 'running'
    spec.forceStop = false
  },
  stop: (spec) => {
    spec.powerState = 'stopped'
  },
  'stop by force': (spec) => {
    spec.powerState = 'stopped'
    spec.forceStop = true
  },
  restart: (spec) => {
    spec.restartCount++
  },
  grow: (spec) => {
    spec.memMb += 512
  },
  shrink: (spec) => {
    spec.memMb = 256
  },
  'grow the disk': (spec) => {
    spec.diskGb += 5
  },
  'start later': (spec) => {
    spec.autostartOrder++
    spec.autostartDelayS = 330
  },
  'autostart off': (spec) => {
    spec.autostart = false
  },
  undelete: (spec) => {
    delete spec.tombstone
  },
}

const isWanted = (id: string) => (referee: Referee) => referee.desired.has(id)
const isDeleted = (id: string) => (referee: Referee) => referee.desired.get(id)?.tombstone !== undefined

const edits = fc
  .tuple(vms, fc.constantFrom(...Object.keys(EDITS)))
  .map(
    ([id, name]) =>
      new Step(
        `${name} ${id[0]}`,
        (referee) => referee.edit(id, (spec) => changed(spec, EDITS[name]!)),
        name === 'undelete' ? isDeleted(id) : isWanted(id),
      ),
  )

const creates = fc
  .record({ id: vms, powerState: fc.constantFrom('running', 'running', 'stopped'), pushed: fc.boolean() })
  .map(({ id, powerState, pushed }) => {
    const image = pushed ? { imageUrl: '', imageSha256: '2'.repeat(64) } : {}
    const name = `create ${id[0]} ${powerState}${pushed ? ' from a pushed image' : ''}`
    return new Step(
      name,
      (referee) => referee.edit(id, (spec) => spec ?? newVm(id, { powerState, ...image })),
      (referee) => !referee.desired.has(id),
    )
  })

const deleted = (graceS: bigint) => (spec: VmSpec | undefined) =>
  changed(spec, (next) => {
    next.tombstone = { $typeName: 'eitri.agent.v1.Tombstone', graceS }
  })

const deletes = fc
  .tuple(vms, fc.constantFrom(0n, 600n, 604_800n))
  .map(
    ([id, graceS]) =>
      new Step(`delete ${id[0]} for ${graceS} s`, (referee) => referee.edit(id, deleted(graceS)), isWanted(id)),
  )

const redeletes = vms.map(
  (id) =>
    new Step(
      `undelete ${id[0]} and delete it for 600 s again`,
      (referee) =>
        referee.twice(
          id,
          (spec) => changed(spec, EDITS['undelete']!)!,
          (spec) => deleted(600n)(spec)!,
        ),
      isDeleted(id),
    ),
)

const forgets = vms.map(
  (id) => new Step(`forget ${id[0]}`, (referee) => referee.edit(id, () => undefined), isWanted(id)),
)

const stale = fc.constantFrom(0n, 1n, 2n).map(
  (back) =>
    new Step(`a stale snapshot, ${back} back`, async (referee, { identity }) => {
      if (identity.epoch <= back) return
      await referee.sendStale(identity.epoch - back, [newVm(IDS[0]!, { memMb: 9 })])
    }),
)

const passing = fc.constantFrom(10_000, 360_000, 1_200_000, 8 * DAY_MS).map(
  (ms) =>
    new Step(`${ms / 1000} s pass`, async (referee, world) => {
      await referee.advance(ms)
      await world.tick()
    }),
)

const jumps = fc.constantFrom(-YEAR_MS, YEAR_MS).map(
  (ms) =>
    new Step(`the clock jumps ${ms / YEAR_MS} years`, async (_referee, world) => {
      world.wall += ms
      await world.tick()
    }),
)

const failures = fc.record({ action: actions, permanent: fc.boolean(), times: fc.integer({ min: 1, max: 3 }) }).map(
  ({ action, permanent, times }) =>
    new Step(`${action} fails ${times} times${permanent ? ' for good' : ''}`, async (referee, world) => {
      const fault = new Fault('vm/start-failed', permanent ? 'permanent' : 'transient', { detail: 'on purpose' })
      world.agent.backend.fail(action, fault, times)
      referee.count('faults', permanent ? 3 : times)
    }),
)

const holds = actions.map(
  (action) =>
    new Step(
      `${action} takes long`,
      async (_referee, world) => world.hold(action),
      (_referee, world) => !world.isHeld(action),
    ),
)

const guestEnds = fc.tuple(vms, fc.boolean()).map(
  ([id, clean]) =>
    new Step(
      `the guest of ${id[0]} ${clean ? 'powers off' : 'crashes'}`,
      async (referee, world) => {
        referee.count('exits', 1, [id])
        world.agent.backend.crash(id, 'on purpose', clean)
        await world.settle()
      },
      (_referee, world) => world.guests.has(id),
    ),
)

const ofHost: [name: string, act: (referee: Referee, world: World) => Promise<void>][] = [
  ['a tick', (_referee, world) => world.tick()],
  ['the snapshot again', (referee) => referee.send()],
  [
    'the agent restarts',
    async (referee, world) => {
      void world.agent.engine.stop()
      await world.settle()
      await referee.begin()
    },
  ],
  ['the agent dies', (referee) => referee.begin()],
  [
    'the host reboots',
    async (referee, world) => {
      world.reboot()
      referee.rebooted = true
      await referee.begin()
    },
  ],
  [
    'the disk is full',
    async (referee, world) => {
      world.disk.full = true
      referee.count('faults', 3)
    },
  ],
  [
    'the disk has room',
    async (_referee, world) => {
      world.disk.full = false
    },
  ],
  [
    'the records cannot be listed',
    async (_referee, world) => {
      world.disk.listable = false
    },
  ],
  [
    'everything can be read and removed',
    async (referee, world) => {
      world.disk.listable = true
      world.disk.removable = true
      world.disk.unreadable.clear()
      await world.tick()
      if (await world.isIdle()) referee.blind = false
    },
  ],
  [
    'nothing can be removed',
    async (_referee, world) => {
      world.disk.removable = false
    },
  ],
  [
    'an image arrives',
    async (_referee, world) => {
      world.images.add('2'.repeat(64))
      world.pushed('2'.repeat(64))
      await world.settle()
    },
  ],
  [
    'the caps change',
    async (referee, world) => {
      const wide = world.caps.memMb === 0 || world.caps.memMb > 1_024
      world.caps = wide ? { vcpus: 2, memMb: 1_024, diskGb: 0 } : { vcpus: 0, memMb: 0, diskGb: 0 }
      await referee.begin()
    },
  ],
]
const hosts = fc.constantFrom(...ofHost).map(([name, act]) => new Step(name, act))

const dying = fc.tuple(fc.integer({ min: 0, max: 4 }), fc.boolean()).map(
  ([writes, holds]) =>
    new Step(
      `the agent dies ${holds ? 'after' : 'before'} the write that follows ${writes}`,
      async (_referee, { agent }) => {
        agent.life.writesLeft = writes
        agent.life.lastWriteHolds = holds
      },
    ),
)

const releases = fc.constant(
  new Step(
    'what takes long ends',
    (_referee, world) => world.release(),
    (_referee, world) => world.isHeld(),
  ),
)

const unreadable = vms.map(
  (id) =>
    new Step(`the record of ${id[0]} cannot be read`, async (_referee, world) => {
      world.disk.unreadable.add(world.layout.vmDir(id).record)
      await world.tick()
    }),
)

const deafness = vms.map(
  (id) =>
    new Step(`${id[0]} does not hear the power button`, async (_referee, world) => {
      world.deaf.add(id)
      world.agent.backend.deaf.add(id)
    }),
)

/** Everything that can happen; what people do comes up more often. */
export const STEPS: fc.Arbitrary<Step>[] = [
  creates,
  creates,
  edits,
  edits,
  edits,
  deletes,
  deletes,
  redeletes,
  forgets,
  stale,
  passing,
  passing,
  jumps,
  failures,
  failures,
  holds,
  holds,
  releases,
  releases,
  guestEnds,
  hosts,
  hosts,
  hosts,
  dying,
  unreadable,
  deafness,
]
