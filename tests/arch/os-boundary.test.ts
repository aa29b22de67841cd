import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAILPOINTS } from '../../src/agent/os/failpoints.ts'
import { ROOT, sourceFiles } from './source-files.ts'

/** The only files of the agent that write, rename, spawn or signal. */
const TRIO = ['src/agent/os/exec.ts', 'src/agent/os/files.ts', 'src/agent/os/process.ts']
/** Opens files, only to read them. */
const READER = 'src/agent/os/read-files.ts'
/** What the trio offers without a failpoint: it changes nothing, or is the failpoint. */
const NO_POINT = new Set([
  ...[
    'isAbsent',
    'isDiskFull',
    'isTemp',
    'tempBeside',
    'openToRead',
    'openLogNow',
    'readHeadNow',
    'readIfPresent',
    'regularFile',
    'listDir',
    'sizeIfPresent',
    'readRange',
  ],
  ...['readTail', 'freeBytes', 'linuxProcesses', 'noteHit', 'endSelf', 'openTerminal', 'look', 'hasPid'],
])
/** All else of node:fs may change something, open() too. */
const READS = new Set([
  ...['access', 'constants', 'createReadStream', 'existsSync', 'fstatSync', 'FSWatcher', 'lstat', 'lstatSync'],
  ...[
    'readdir',
    'readdirSync',
    'readFile',
    'readFileSync',
    'readlink',
    'readlinkSync',
    'realpath',
    'realpathSync',
    'stat',
    'statfs',
  ],
  ...['Stats', 'statSync', 'watch'],
])

interface Source {
  path: string
  text: string
}

const agentSources = (): Source[] =>
  sourceFiles('src/agent').map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))

/** Imports and calls by which a file changes something behind the trio's back. */
function trespasses({ path, text }: Source): string[] {
  const found: string[] = []
  for (const [, clause = '', module = ''] of text.matchAll(/import\s([^;]*?)\sfrom\s'(node:[\w/]+)'/g)) {
    if (module === 'node:child_process') found.push(module)
    if (module !== 'node:fs' && module !== 'node:fs/promises') continue
    const names = /^\{([^}]*)\}$/.exec(clause.trim())?.[1]
    if (names === undefined) found.push(`all of ${module}`)
    for (const name of (names ?? '').split(',').map(
      (part) =>
        part
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0]!,
    ))
      if (name !== '' && !READS.has(name)) found.push(name)
  }
  if (/\bimport\(\s*['"]node:|\bcreateRequire\b|\bgetBuiltinModule\b/.test(text)) found.push('a module at run time')
  if (/\.kill\(|\bprocess\.abort\(/.test(text)) found.push('kill')
  return found.map((what) => `${path}: ${what}`)
}

/** Names of what a file of the trio exports that takes a failpoint first; the others are returned as `bare`. */
function offers(text: string): { pointed: string[]; bare: string[] } {
  const pointed: string[] = []
  const bare: string[] = []
  const declared = /^export (?:async )?(?:function|const) (\w+)(?:: \w+ =|<\w+>| =)?\s*\(?\s*(\w+)?/gm
  for (const [, name = '', first] of text.matchAll(declared)) (first === 'point' ? pointed : bare).push(name)
  return { pointed, bare }
}

/** Calls of imported `names` whose first argument is neither a literal nor a failpoint handed on. */
function pointless({ path, text }: Source, names: string[]): string[] {
  const imported = [...text.matchAll(/import \{([^}]*)\} from '[./]*(?:os\/)?(?:files|exec|process)\.ts'/g)]
    .flatMap(([, clause = '']) => clause.split(',').map((part) => part.trim()))
    .filter((name) => names.includes(name))
  if (imported.length === 0) return []
  const calls = new RegExp(`(?<![.#\\w])(?:${imported.join('|')})\\(\\s*([^,)\\s]*)`, 'g')
  return [...text.matchAll(calls)]
    .filter(([, first = '']) => !/^('[\w.-]+'|point)$/.test(first))
    .map(([call]) => `${path}: ${call}`)
}

const literals = (sources: Source[]): string[] =>
  sources.flatMap(({ text }) => [...text.matchAll(/'([a-z0-9-]+\.[a-z0-9-]+)'/g)].map(([, name]) => name!))

describe('the boundary between agent and host', () => {
  const sources = agentSources()
  const outside = sources.filter(({ path }) => !TRIO.includes(path) && path !== READER)
  const trio = TRIO.map((path) => sources.find((source) => source.path === path)!)
  const pointed = trio.flatMap(({ text }) => offers(text).pointed)
  const callers = sources.filter(({ path }) => path !== 'src/agent/os/failpoints.ts')

  it('is three files, the only ones that write, rename, spawn or signal', () => {
    expect(outside.length).toBeGreaterThan(80)
    expect(outside.flatMap(trespasses)).toEqual([])
  })

  it('has one more that opens files, and never to write', () => {
    const { text } = sources.find(({ path }) => path === READER)!
    const opens = [...text.matchAll(/\bopen(?:Sync)?\(([^)]*)\)/g)].map(([, args]) => args)
    expect(opens.length).toBeGreaterThan(0)
    for (const args of opens) expect(args).toMatch(/^path, constants\.O_RDONLY \| /)
    expect(text).not.toMatch(/O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)|\b(write|append|rename|rm|unlink|mkdir|truncate)\w*\(/)
  })

  it.each([
    ["import { rm } from 'node:fs/promises'", 'rm'],
    ["import { open } from 'node:fs/promises'", 'open'],
    ["import {\n  stat,\n  type FileHandle,\n} from 'node:fs/promises'", 'FileHandle'],
    ["import { stat as s, chmod as c } from 'node:fs'", 'chmod'],
    ["import * as fs from 'node:fs/promises'", 'all of node:fs/promises'],
    ["import fs from 'node:fs'", 'all of node:fs'],
    ["import type { ChildProcess } from 'node:child_process'", 'node:child_process'],
    ["const { rm } = await import('node:fs/promises')", 'a module at run time'],
    ['child.kill()', 'kill'],
    ['process.kill(pid, 0)', 'kill'],
  ])('is crossed by %j', (text, what) => {
    expect(trespasses({ path: 'x.ts', text })).toEqual([`x.ts: ${what}`])
  })

  it('is crossed only under the name of a failpoint', () => {
    expect(pointed.length).toBeGreaterThan(15)
    expect(trio.flatMap(({ text }) => offers(text).bare).filter((name) => !NO_POINT.has(name))).toEqual([])
    expect(callers.flatMap((source) => pointless(source, pointed))).toEqual([])
  })

  it.each(['await removeTree(path)', "run(name, 'x')", 'removeTree(`a.b`, path)', 'setMode(POINT, path)'])(
    'is not crossed under a name by %j',
    (call) => {
      const text = `import { removeTree, setMode } from '../os/files.ts'\nimport { run } from '../os/exec.ts'\n${call}`
      expect(pointless({ path: 'x.ts', text }, pointed)).toHaveLength(1)
    },
  )

  it('has each failpoint at exactly one place', () => {
    const used = literals(callers)
    const places = FAILPOINTS.map((name) => `${name} ${used.filter((other) => other === name).length}`)
    expect(places).toEqual(FAILPOINTS.map((name) => `${name} 1`))
    expect(new Set(FAILPOINTS).size).toBe(FAILPOINTS.length)
    expect(FAILPOINTS.length).toBeGreaterThan(80)
  })
})
