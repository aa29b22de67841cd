import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const source = (name: string) => new URL(`../../../../src/agent/os/${name}.ts`, import.meta.url).href
/** Writes twice, then says that it came to its end. */
const PROGRAM = `
  import { armFailpoints } from '${source('arm-failpoints')}'
  import { writeDurable } from '${source('files')}'
  armFailpoints(process.env)
  for (const text of ['first', 'second']) await writeDurable('record.save', process.argv[1], text)
  console.log('done')
`
let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-failpoint-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function runWith(env: Record<string, string>) {
  const args = ['--input-type=module', '-e', PROGRAM, join(dir, 'file')]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text))
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  const text = await readFile(join(dir, 'file'), 'utf8').catch(() => undefined)
  return { code, signal, said, text, temps: (await readdir(dir)).filter((name) => name.endsWith('.tmp')).length }
}

describe('a failpoint', () => {
  it('does nothing unless it is asked for', async () => {
    expect(await runWith({})).toEqual({ code: 0, signal: null, said: 'done\n', text: 'second', temps: 0 })
  })

  it.each([
    ['record.save', undefined, 0],
    ['record.save:between', undefined, 1],
    ['record.save:after', 'first', 0],
    ['record.save:between:2', 'first', 1],
    ['record.save:after:2', 'second', 0],
  ])('%s ends the process by SIGKILL there and then', async (point, text, temps) => {
    expect(await runWith({ EITRI_FAILPOINT: point })).toMatchObject({ signal: 'SIGKILL', said: '', text, temps })
  })

  it('notes the first time each place is reached', async () => {
    const log = join(dir, 'log')
    await runWith({ EITRI_FAILPOINT_LOG: log })
    expect(await readFile(log, 'utf8')).toBe('record.save:before\nrecord.save:between\nrecord.save:after\n')
  })

  it.each(['none.such', 'record.save:never', 'vmm.kill:between', 'record.save:after:0'])(
    '%s is refused: it could never be reached',
    async (point) => {
      const run = await runWith({ EITRI_FAILPOINT: point })
      expect(run).toMatchObject({ code: 1, text: undefined, said: expect.stringContaining(`no failpoint ${point}`) })
    },
  )
})
