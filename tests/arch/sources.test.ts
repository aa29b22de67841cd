import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, sourceFiles } from './source-files.ts'

const MAX_LINES = 400
const MAX_TEST_LINES = 600
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const lines = (path: string) => text(path).split('\n').length - 1

describe('source files', () => {
  it(`have at most ${MAX_LINES} lines, tests ${MAX_TEST_LINES}`, () => {
    const files = ['src', 'scripts'].flatMap(sourceFiles)
    expect(files.length).toBeGreaterThan(100)
    expect(files.filter((path) => lines(path) > MAX_LINES)).toEqual([])
    expect(sourceFiles('tests').filter((path) => lines(path) > MAX_TEST_LINES)).toEqual([])
  })

  it('say in one line what an exported function or class of contracts, control plane and agent does', () => {
    const undocumented = ['src/ipc', 'src/main/control', 'src/agent'].flatMap(sourceFiles).flatMap((path) => {
      const all = text(path).split('\n')
      return all.flatMap((line, index) => {
        const name = /^export (?:async |abstract )*(?:function\*?|class) +(\w+)/.exec(line)?.[1]
        return name && !all[index - 1]?.endsWith('*/') ? [`${path}: ${name}`] : []
      })
    })
    expect(undocumented).toEqual([])
  })

  it('have no default exports, enums, namespaces or notes to do later', () => {
    const banned = /^export default |^(export )?(const )?enum |^(export )?namespace |\b(TODO|FIXME|XXX)\b/m
    const allowed = /\.config\.ts$|^scripts\/(vitest|playwright)-tally\.ts$/
    const files = ['src', 'scripts'].flatMap(sourceFiles).filter((path) => !allowed.test(path))
    expect(files.filter((path) => banned.test(text(path)))).toEqual([])
  })

  it('are named in kebab-case and never after a drawer of odds and ends', () => {
    const files = ['src', 'scripts', 'tests'].flatMap(sourceFiles)
    const names = files.map((path) => path.split('/').at(-1) ?? '')
    expect(names.filter((name) => !/^[a-z0-9]+([-.][a-z0-9]+)*\.(ts|tsx|mjs)$/.test(name))).toEqual([])
    expect(names.filter((name) => /(^|-)(utils?|helpers?|common|misc)\b|^manager\b/.test(name))).toEqual([])
  })
})
