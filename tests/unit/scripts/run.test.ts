import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-run-'))
  mkdirSync(join(dir, 'scripts'))
  for (const name of ['run.mjs', 'lock.mjs', 'waiting.mjs'])
    cpSync(join(ROOT, 'scripts', name), join(dir, 'scripts', name))
  writeFileSync(join(dir, 'package-lock.json'), '{}')
  writeFileSync(join(dir, 'scripts/eitri.ts'), 'console.log(JSON.stringify(process.argv.slice(2)))\n')
  // stands in for npm: notes that it was called, and puts the project's Node where npm would
  const node = join(dir, `node_modules/node-linux-${process.arch}/bin`)
  const npm = `#!/bin/sh\necho "npm $*" | tee -a "${dir}/npm.log"\nmkdir -p "${node}" && ln -sf "${process.execPath}" "${node}/node"\n`
  mkdirSync(join(dir, 'bin'))
  writeFileSync(join(dir, 'bin/npm'), npm, { mode: 0o755 })
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function run(...args: string[]) {
  const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin` }
  return spawnSync(process.execPath, [join(dir, 'scripts/run.mjs'), ...args], { env, encoding: 'utf8' })
}
const npmCalls = () =>
  execFileSync('cat', [join(dir, 'npm.log')], { encoding: 'utf8' })
    .trim()
    .split('\n')

describe('the entry that needs no packages', () => {
  it('installs once, keeps stdout for the program and passes its arguments on', () => {
    const first = run('eitri', 'vm', 'list', '--json')
    expect(first).toMatchObject({ status: 0, stdout: '["vm","list","--json"]\n' })
    expect(first.stderr).toContain('npm ci')
    const second = run('eitri')
    expect(second).toMatchObject({ status: 0, stdout: '[]\n', stderr: '' })
    expect(npmCalls()).toHaveLength(1)
  })

  it('says while npm works that it does, how far it is and for how long already', async () => {
    const lock = { packages: { '': {}, 'node_modules/a': {}, 'node_modules/b': {} } }
    writeFileSync(join(dir, 'package-lock.json'), JSON.stringify(lock))
    mkdirSync(join(dir, 'node_modules/a'), { recursive: true })
    writeFileSync(join(dir, 'node_modules/a/package.json'), '{}')
    const npm = readFileSync(join(dir, 'bin/npm'), 'utf8')
    // works until it was seen to work
    writeFileSync(join(dir, 'bin/npm'), npm.replace('\n', `\nwhile [ ! -e "${dir}/seen" ]; do :; done\n`))
    const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin`, EITRI_TICK_MS: '50' }
    const child = spawn(process.execPath, [join(dir, 'scripts/run.mjs'), 'eitri'], { env })
    let said = ''
    child.stderr.on('data', (bytes) => {
      said += bytes
      if (said.includes('packages, ')) writeFileSync(join(dir, 'seen'), '')
    })
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(said).toMatch(/^Installing packages with npm ci …\n/)
    expect(said).toMatch(/Installing packages with npm ci … 1 of at most 2 packages, \d+ s\n/)
  })

  it('installs again when the lock changed', () => {
    run('eitri')
    writeFileSync(join(dir, 'package-lock.json'), '{ }')
    run('eitri')
    expect(npmCalls()).toHaveLength(2)
  })

  it('takes over a lock whose holder is gone', () => {
    mkdirSync(join(dir, 'out'))
    writeFileSync(join(dir, 'out/install.lock'), '999999999')
    expect(run('eitri').status).toBe(0)
  })

  it('passes the exit code on', () => {
    writeFileSync(join(dir, 'scripts/eitri.ts'), 'process.exit(4)\n')
    expect(run('eitri').status).toBe(4)
  })

  it('names its programs when asked for another', () => {
    expect(run('reboot')).toMatchObject({ status: 2, stdout: '' })
    expect(run().stderr).toContain('start|test|eitri|agent|bench')
  })

  it('says so when npm fails, and starts nothing', () => {
    writeFileSync(join(dir, 'bin/npm'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const result = run('eitri')
    expect(result).toMatchObject({ status: 1, stdout: '' })
    expect(result.stderr).toContain('npm ci failed')
  })
})
