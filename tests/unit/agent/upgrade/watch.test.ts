import { existsSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { thisHost } from '../../../../src/agent/install/host-access.ts'
import { hostProcesses } from '../../../../src/agent/platform.ts'
import { agentLayout } from '../../../../src/agent/records/layout.ts'
import { readUpgrade, saveUpgrade } from '../../../../src/agent/upgrade/upgrade-note.ts'
import { resumeUpgrade } from '../../../../src/agent/upgrade/upgrader.ts'
import { watchUpgrade } from '../../../../src/agent/upgrade/watch.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-watch-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const at = (...names: string[]) => join(dir, ...names)
const layout = () => agentLayout(at('state'))
const program = (version: string) => ({ target: at('lib', version, 'eitri-agent'), version, digest: version })

/** Sleeps at once. */
function quickClock() {
  let ms = 0
  return {
    now: () => ms,
    monotonic: () => ms,
    sleep: async (span: number) => {
      ms += span
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** An upgrade in doubt, to an agent that dies at once; of the older one only the name is left. */
async function inDoubt() {
  mkdirSync(at('state'))
  mkdirSync(at('lib', '2'), { recursive: true })
  writeFileSync(program('2').target, '#!/bin/sh\nexit 7\n', { mode: 0o755 })
  symlinkSync(program('2').target, at('link'))
  await saveUpgrade(layout().upgrade, {
    ...{
      offer: { version: '2', sha256: 'a'.repeat(64), staged_path: at('staged/2') },
      state: 'restarting',
      detail: '',
    },
    at: new Date(0).toISOString(),
    way: { link: at('link'), from: program('1'), to: program('2'), started_by: 'app', args: ['serve'] },
  })
  const common = { layout: layout(), socketPath: at('agent.sock'), clock: quickClock(), log: silentLog }
  return { ...common, processes: hostProcesses(process.platform) }
}

describe('an upgrade whose older agent is no longer there', () => {
  it('that fails leaves the host the newer one: a link to nothing would leave it none', async () => {
    const deps = await inDoubt()
    expect(await watchUpgrade({ ...deps, host: thisHost() }, { resumed: false })).toBe('rolled_back')
    expect(readlinkSync(at('link'))).toBe(program('2').target)
    expect(existsSync(program('2').target)).toBe(true)
    expect(await readUpgrade(layout().upgrade)).toMatchObject({
      state: 'rolled_back',
      detail: expect.stringContaining(`the older one is no longer there: ${program('1').target}`),
    })
  })

  it('that nobody watches over is no longer in doubt, so that the next offer is taken', async () => {
    const deps = await inDoubt()
    const self = { program: { kind: 'executable', file: program('2').target, node: '' } as const, args: ['serve'] }
    await resumeUpgrade({ ...deps, self: { ...self, version: '2', digest: '2' } })
    expect(await readUpgrade(layout().upgrade)).toMatchObject({ state: 'done' })
  })
})
