import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startDetached } from '../../../../src/agent/install/start.ts'
import { faultLine } from '../../../../src/ipc/fault-text.ts'
import { asFault } from '../../../../src/ipc/faults.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'eitri-start-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

describe('starting an agent detached', () => {
  it('names a damaged identity as such, with what to do, and starts nothing', async () => {
    await writeFile(join(dir, 'identity.json'), '')
    const start = { command: ['/nonexistent'], stateDir: dir, socket: join(dir, 'agent.sock') }
    const fault = await startDetached(start).then(() => undefined, asFault)
    expect(fault?.code).toBe('agent/identity-damaged')
    const words = faultLine(fault!.code, { host: 'rack', ...fault!.params })
    expect(words).toContain(
      `The agent's identity file ${join(dir, 'identity.json')} on rack cannot be used (it is empty).`,
    )
    expect(words).toContain('Put the file back from a backup')
    expect(await readdir(dir)).toEqual(['identity.json'])
  })

  it('adds to the log of the starts before, and says only what this one said', async () => {
    const log = join(dir, 'agent.log')
    await writeFile(log, 'an older start crashed\n')
    const start = (script: string) =>
      startDetached({ command: [process.execPath, '-e', script], stateDir: dir, socket: join(dir, 'agent.sock') })
    await expect(start("console.error('first try')")).rejects.toMatchObject({
      params: { message: 'the agent does not start: first try' },
    })
    await expect(start('')).rejects.toMatchObject({ params: { message: 'the agent does not start: it ended at once' } })
    expect(await readFile(log, 'utf8')).toBe('an older start crashed\nfirst try\n')
    expect((await readdir(dir)).filter((name) => name.startsWith('agent.log'))).toEqual(['agent.log'])
  })
})
