import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildDigestOf } from '../../scripts/bundles.ts'
import { ROOT } from './source-files.ts'

const run = promisify(execFile)
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
let dir: string

beforeAll(() => {
  // beside no node_modules: what a bundle did not bring cannot be found
  dir = mkdtempSync(join(tmpdir(), 'eitri-bundle-'))
  cpSync(join(ROOT, 'dist'), dir, { recursive: true, filter: (path) => !/eitri-agent-linux|\.map$/.test(path) })
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const start = (...args: string[]) =>
  run(process.execPath, args, { cwd: dir, env: { PATH: process.env['PATH'], HOME: dir } })

describe('bundles, in a folder without packages', () => {
  it('are tested on Node 24', () => {
    expect(process.version).toMatch(/^v24\./)
  })

  it('cannot reach electron there', async () => {
    await expect(start('-e', "require('electron')")).rejects.toThrow(/Cannot find module/)
  })

  it('the command line says its version', async () => {
    const { stdout } = await start('main/cli.mjs', 'version', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ version })
  })

  it('the control plane says how it is called', async () => {
    const { stdout } = await start('main/serve.mjs', '--help')
    expect(stdout).toContain('--listen')
  })

  it('the agent says its version, as bundle and as executable', async () => {
    const bundle = await start('agent/agent.cjs', 'version')
    expect(bundle.stdout).toContain(version)
    const executable = await run(join(ROOT, `dist/agent/eitri-agent-linux-${process.arch}`), ['version'], { cwd: dir })
    expect(executable.stdout).toBe(bundle.stdout)
  })

  it('the agent carries the digest its manifest names', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'dist/agent/manifest.json'), 'utf8')) as any
    expect(manifest.build_digest).toBe(buildDigestOf(readFileSync(join(ROOT, 'dist/agent/agent.cjs'), 'utf8')))
    expect(Object.keys(manifest.files)).toEqual([
      'agent.cjs',
      `eitri-agent-linux-${process.arch}`,
      `eitri-agent-linux-${process.arch}.gz`,
    ])
  })
})
