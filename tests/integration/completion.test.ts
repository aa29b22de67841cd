import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Desktop, REPO } from '../support/eitri.ts'
import { mustRun } from '../support/run-program.ts'

let dir: string
let desktop: Desktop

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-completion-'))
  desktop = await new Desktop().start()
})
afterAll(async () => {
  await desktop?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

it('bash completes commands and names of the running fleet by the script it is given', async () => {
  const digest = 'd'.repeat(64)
  await desktop.must(['image', 'add', 'noble', '--url', 'https://images.example.test/n.qcow2', '--sha256', digest])
  const { stdout: script } = await desktop.cli(['completion', 'bash'], { plain: true })
  writeFileSync(join(dir, 'complete.sh'), script)
  const cli = `exec ${process.execPath} ${join(REPO, 'dist/main/cli.mjs')} --data-dir ${desktop.dataDir} "$@"`
  writeFileSync(join(dir, 'eitri'), `#!/bin/sh\n${cli}\n`, { mode: 0o755 })
  const env = { ...desktop.env, PATH: `${dir}${delimiter}${process.env['PATH']}` }
  const line = `. ${dir}/complete.sh; COMP_WORDS=(eitri "$@"); COMP_CWORD=$#; _eitri; printf '%s\\n' "\${COMPREPLY[@]}"`
  const type = async (...words: string[]) =>
    (await mustRun('bash', ['-c', line, 'bash', ...words], { env })).split('\n').filter(Boolean)
  expect(await type('v')).toEqual(expect.arrayContaining(['vm', 'version']))
  expect(await type('image', 'remove', 'no')).toEqual(['noble'])
  await desktop.stop()
  expect(await type('image', 'remove', 'no')).toEqual([])
})
