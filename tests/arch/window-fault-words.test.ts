import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { windowFaultText } from '../../src/ipc/fault-text-window.ts'
import { FAULT_CODES } from '../../src/ipc/faults.ts'
import { ROOT, sourceFiles } from './source-files.ts'

/** Params under which texts differ. */
const CASES: Record<string, string>[] = [
  {},
  { host: 'rack-1', vm: 'web-1', image: 'tiny', tenant: 'default', kind: 'user', count: '2' },
  { vm: 'web-1', kept: '1', quota: 'max_disk_gb' },
  { host: 'rack-1', why: 'draining', adding: 'yes' },
  { ca: 'people', serial: '4', port: '8443', detail: 'no answer' },
]
const COMMAND = /"eitri |"host |\beitri [a-z]+ [a-z]+| --[a-z]|\bserve\b/

/** Written into a host's own files, wherever one is. */
const A_HOST_RUNS = /"eitri-agent [^"]*"/

describe('words of faults in the window', () => {
  it.each(FAULT_CODES)('of %s name what is there to click, and no command or option', (code) => {
    for (const params of CASES) {
      const { what, effect, next } = windowFaultText(code, params)
      const said = [what, effect, next].join(' ').replace(A_HOST_RUNS, '')
      expect(said).not.toMatch(COMMAND)
      expect(what).not.toBe('')
    }
  })

  it('are those the renderer says', () => {
    const common = sourceFiles('src/renderer').filter((path) =>
      /\bfault(Text|Line)\b/.test(readFileSync(join(ROOT, path), 'utf8')),
    )
    expect(common).toEqual([])
  })
})
