import type { VmRow } from '../../../../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { IDS, isUp, type Referee } from './referee.ts'
import type { World } from './world.ts'

/** Ticks, 6 minutes apart, within which everything that is not blocked is as wanted. */
const TICKS = 30

/** Takes away all that was put in the way; then every VM gets where it is wanted, or says why it cannot. */
export async function expectConvergence(referee: Referee, world: World): Promise<void> {
  Object.assign(world.disk, { full: false, listable: true, removable: true })
  world.disk.unreadable.clear()
  world.deaf.clear()
  world.images.add('2'.repeat(64))
  // A new agent: the old one's holds and failures went with it.
  await referee.begin()
  if (referee.epoch > 0n) await referee.send()
  let wrong: string[] = []
  for (let tick = 0; tick < TICKS; tick++) {
    await world.tick()
    await referee.judge()
    if (referee.broken.length > 0) throw new Error(referee.broken.join('\n'))
    wrong = IDS.map((id) => notYet(id, referee, world)).filter((why) => why !== '')
    if (wrong.length === 0) return await expectRest(referee, world)
    await referee.advance(360_000)
  }
  throw new Error(`after ${TICKS} ticks: ${wrong.join('; ')}`)
}

/** What is wanted and there stays there: another tick does nothing. */
async function expectRest(referee: Referee, world: World): Promise<void> {
  const done = () => world.agent.backend.calls.filter((call) => !call.startsWith('preflight')).length
  const before = done()
  await world.tick()
  await world.tick()
  if (done() !== before)
    throw new Error(`at rest it goes on with ${world.agent.backend.calls.slice(before).join(', ')}`)
  await referee.judge()
  if (referee.broken.length > 0) throw new Error(referee.broken.join('\n'))
}

/** '' = it is as wanted, or blocked for a reason that holds. */
function notYet(id: string, referee: Referee, world: World): string {
  const spec = referee.desired.get(id)
  const record = world.recordOf(id)
  const report = world.agent.engine.report()
  const row = report.vms.find((vm) => vm.vmId === id)
  const quarantined = report.quarantined.find((vm) => vm.vmId === id)
  const seen = `${id[0]}: ${row?.power}/${row?.phase}/${row?.detail}`
  const runs = world.guests.has(id)
  if (!spec) return !record || row?.unowned || quarantined?.unowned ? '' : `${seen} is not unowned`
  if (spec.tombstone) {
    if (runs) return `${seen} still runs`
    if (report.destroyed.includes(id)) return ''
    const due = referee.quarantinedMs(id) >= Number(spec.tombstone.graceS) * 1000
    return quarantined?.destroyAt && (!due || spec.tombstone.graceS > 600n) ? '' : `${seen} is not gone`
  }
  if (row && isBlocked(row, id, referee, world)) return ''
  if (row?.phase !== 'ready' || record?.bootId === '') return `${seen} is not ready`
  if ((record?.diskGb ?? 0) < spec.diskGb) return `${seen} has a disk of ${record?.diskGb} GiB, not ${spec.diskGb}`
  return isUp(spec) === runs ? '' : `${seen} is not ${spec.powerState}`
}

function isBlocked(row: VmRow, id: string, referee: Referee, world: World): boolean {
  const spec = referee.desired.get(id)!
  if (row.detail === '') return false
  if (row.reason === 'vm/over-capacity') {
    const others = IDS.filter((other) => other !== id).map((other) => world.recordOf(other)?.admitted)
    return (['vcpus', 'memMb'] as const).some((key) => {
      const sum = others.reduce((total, size) => total + (size?.[key] ?? 0), spec[key])
      return world.caps[key] > 0 && sum > world.caps[key]
    })
  }
  if (row.reason === 'vm/crash-loop') return referee.exitsOf(id) >= 3
  if (row.detail.includes('autostart is off')) return spec.autostart === false && referee.rebooted
  return row.phase === 'failed' && world.recordOf(id)?.bootId === '' && referee.faultsOf(id) >= 3
}
