import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { ExposureSchema, ExposureStatusSchema } from '../../../../src/ipc/gen/eitri/agent/v1/sync_pb.js'
import { aVm, ID, Rig } from './rig.ts'

const exposure = create(ExposureSchema, { id: 'e', vmId: ID, guestPort: 80, hostPort: 8080, protocol: 'tcp' })

/** What the engine said each time it was to be looked at again. */
function watching() {
  const seen: string[] = []
  let tell = () => {}
  let rig: Rig | undefined
  const exposures = {
    look: () => {
      if (!rig) return
      const { engine } = rig
      seen.push(`${engine.exposures().length} ${engine.isWanted(ID)} ${engine.guest(ID).run !== ''}`)
    },
    statuses: () => [create(ExposureStatusSchema, { id: 'e', state: 'listening' })],
    onChange: (fn: () => void) => {
      tell = fn
      return () => {}
    },
  }
  return { seen, exposures, tell: () => tell(), begin: (begun: Rig) => (rig = begun) }
}

describe('published ports and the engine', () => {
  it('are looked at again with each accepted state, before any work on it, and once the guest runs', async () => {
    const watch = watching()
    await using rig = await Rig.open({ exposures: watch.exposures })
    watch.begin(rig)
    await rig.send([aVm()], 1n, [exposure])
    expect(watch.seen[0]).toBe('1 true false')
    await rig.engine.idle()
    expect(watch.seen.at(-1)).toBe('1 true true')
    watch.seen.length = 0
    await rig.send([aVm({ tombstone: { graceS: 3600n } })], 2n, [exposure])
    expect(watch.seen[0]).toBe('1 false true')
  })

  it('are wanted for nobody once the agent has a new owner, at once', async () => {
    const watch = watching()
    await using rig = await Rig.open({ exposures: watch.exposures })
    watch.begin(rig)
    await rig.send([aVm()], 1n, [exposure])
    await rig.engine.idle()
    watch.seen.length = 0
    await rig.engine.disown()
    expect(watch.seen[0]).toBe('0 false true')
  })

  it('are what the kept state says after a start', async () => {
    await using rig = await Rig.open({ exposures: watching().exposures })
    await rig.send([aVm()], 1n, [exposure])
    await rig.restart()
    expect(rig.engine.exposures()).toMatchObject([{ id: 'e', hostPort: 8080 }])
    expect(rig.engine.guest(ID).run).not.toBe('')
  })

  it('are in the report, and a change of one asks for a report', async () => {
    const watch = watching()
    await using rig = await Rig.open({ exposures: watch.exposures })
    expect(rig.engine.report().exposures).toMatchObject([{ id: 'e', state: 'listening' }])
    let changes = 0
    rig.engine.onChange(() => changes++)
    watch.tell()
    expect(changes).toBe(1)
  })
})
