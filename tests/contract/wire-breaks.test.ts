import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const REPO = resolve(import.meta.dirname, '../..')
const SYNC = 'src/ipc/proto/eitri/agent/v1/sync.proto'
let dir: string

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', '-C', dir, ...args], { stdio: 'pipe' })

function commit(words: string): void {
  git('add', '-A')
  git('commit', '-q', '--allow-empty', '-m', words)
}

/** Changes the contract of the agent; the text must be there. */
function edit(from: string, to: string): void {
  const file = join(dir, SYNC)
  const text = readFileSync(file, 'utf8')
  expect(text).toContain(from)
  writeFileSync(file, text.replace(from, to))
}

const check = () =>
  spawnSync(process.execPath, [join(REPO, 'scripts/check-breaking.ts'), '--dir', dir], { encoding: 'utf8' })

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-contracts-'))
  cpSync(join(REPO, 'buf.yaml'), join(dir, 'buf.yaml'))
  cpSync(join(REPO, 'src/ipc/proto'), join(dir, 'src/ipc/proto'), { recursive: true })
  git('init', '-q')
  commit('one')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('a change of the contracts', { timeout: 60_000 }, () => {
  it('that adds a field passes, and one that takes one away or gives its number another type is red', () => {
    commit('two')
    edit('  string session_id = 7;', '  string session_id = 7;\n  // Nobody reads it yet.\n  string planted = 99;')
    expect(check()).toMatchObject({ status: 0, stdout: expect.stringContaining('the commit before') })
    edit('  string session_id = 7;', '  uint64 session_id = 7;')
    const typed = check()
    expect(typed.status).toBe(1)
    expect(typed.stderr).toMatch(/sync\.proto:\d+:.*session_id.*type/)
    edit('  uint64 session_id = 7;\n', '')
    expect(check().stderr).toMatch(/session_id.*deleted/)
  })

  it('is held against the newest release, not only against the commit before', () => {
    git('tag', 'v0.1.0')
    edit('  string session_id = 7;', '  string session_id = 70;')
    commit('breaks the release')
    commit('changes nothing')
    const broken = check()
    expect(broken.status).toBe(1)
    expect(broken.stderr).toMatch(/as of release v0\.1\.0/)
  })

  it('has nothing to be held against in a first commit and outside of a checkout', () => {
    expect(check()).toMatchObject({ status: 0, stdout: expect.stringContaining('first commit') })
    rmSync(join(dir, '.git'), { recursive: true })
    expect(check()).toMatchObject({ status: 0, stdout: expect.stringContaining('no checkout') })
  })
})
