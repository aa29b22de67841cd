import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildDebian, type DebianBuild } from '../../src/main/control/images/debian/build-debian.ts'
import { silentStep } from '../support/silent-step.ts'
import { SmallDisk } from '../support/small-disk.ts'

const ASSETS = join(import.meta.dirname, '../../assets/debian')
let dir: string
let workDir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-build-'))
  workDir = join(dir, 'work')
  mkdirSync(workDir)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const build = (change: Partial<DebianBuild> & { onDetail?: (text: string) => void } = {}) =>
  buildDebian({
    workDir,
    signal: AbortSignal.timeout(120_000),
    step: (_, run) => run({ ...silentStep, detail: change.onDetail ?? (() => {}) }),
    ...change,
  })

/** Processes and mounts that still have to do with the work folder. */
function left(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const lines = pids.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8'), readFileSync(`/proc/${pid}/environ`, 'utf8')]
    } catch {
      return []
    }
  })
  return [...lines, ...readFileSync('/proc/mounts', 'utf8').split('\n')].filter((line) => line.includes(workDir))
}

describe('a Debian image build', { timeout: 150_000 }, () => {
  it('that is cancelled while packages are unpacked ends all it started and leaves nothing', async () => {
    const abort = new AbortController()
    const seen: string[] = []
    const onDetail = (text: string) => {
      seen.push(text)
      if (text.startsWith('Unpacking')) abort.abort(new DOMException('cancelled', 'AbortError'))
    }
    await expect(build({ signal: abort.signal, onDetail })).rejects.toMatchObject({ name: 'AbortError' })
    expect(seen).toContainEqual(expect.stringMatching(/^Unpacking /))
    expect([readdirSync(workDir), left()]).toEqual([[], []])
  })

  it('that fails says so in the words of the tool that failed, and leaves nothing', async () => {
    const assetsDir = join(dir, 'assets')
    cpSync(ASSETS, assetsDir, { recursive: true })
    rmSync(join(assetsDir, 'customize'))
    await expect(build({ assetsDir })).rejects.toMatchObject({
      code: 'image/build-failed',
      params: { message: expect.stringMatching(/^tar: .*customize.*No such file/) },
    })
    expect([readdirSync(workDir), left()]).toEqual([[], []])
  })

  it('does not begin where the disk has no room for it, and says how much that is', async () => {
    await using disk = await SmallDisk.mount('tmpfs', 8 << 20)
    await expect(build({ workDir: disk.dir })).rejects.toMatchObject({
      code: 'image/build-failed',
      params: { message: expect.stringMatching(/0\.0 GiB free.*2\.5 GiB/) },
    })
    expect(readdirSync(disk.dir)).toEqual([])
  })
})
