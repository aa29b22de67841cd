import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MiB } from '../../src/ipc/units.ts'
import { runProgram } from '../support/run-program.ts'
import { SmallDisk } from '../support/small-disk.ts'

const MAIN = join(import.meta.dirname, '../support/full-store-main.ts')

describe.each(['tmpfs', 'ext4'] as const)('the store on a full %s', (kind) => {
  it('refuses in words, loses nothing that it took, leaves nothing half made, and goes on once there is room', async () => {
    await using disk = await SmallDisk.mount(kind, 16 * MiB)
    const [command, args] = disk.enter(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, disk.inside])
    const run = await runProgram(command, args, { env: process.env, timeoutMs: 60_000 })
    expect(run.stderr).toBe('')
    const told = JSON.parse(run.stdout)
    const full = expect.stringContaining('full')
    expect(told.refused).toEqual({ code: 'store/unavailable', disposition: 'transient', detail: full })
    expect(told.full.state).toMatchObject({ problem: 'disk_full', readOnlyReason: full })
    expect(told.full.names).toEqual(told.full.took)
    expect([told.copied, told.left]).toEqual([
      { code: 'store/unavailable', disposition: 'transient', detail: full },
      false,
    ])
    expect(told.after.state).toMatchObject({ problem: '', readOnlyReason: '' })
    expect([told.kept, told.damage]).toEqual([told.took, undefined])
    expect(told.took.length).toBeGreaterThan(1)
  })
})
