import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listenOnSocket } from '../../../../src/agent/rpc/listen.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'eitri-listen-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

async function listen(path: string): Promise<void> {
  const server = createServer()
  await listenOnSocket(server, { path, mode: 0o660, gid: process.getgid!() })
  await new Promise((resolve) => server.close(resolve))
}

describe('the directory of a socket that a group may use', () => {
  it('is made so that the group gets in', async () => {
    await listen(join(dir, 'run', 'agent.sock'))
    expect(modeOf(join(dir, 'run'))).toBe('750')
  })

  it('that a starter made and died before it let the group in is finished', async () => {
    mkdirSync(join(dir, 'run'), { mode: 0o700 })
    await listen(join(dir, 'run', 'agent.sock'))
    expect(modeOf(join(dir, 'run'))).toBe('750')
  })

  it('that holds what is not ours stays closed', async () => {
    mkdirSync(join(dir, 'home'), { mode: 0o700 })
    writeFileSync(join(dir, 'home', 'letter'), '')
    await listen(join(dir, 'home', 'agent.sock'))
    expect(modeOf(join(dir, 'home'))).toBe('700')
  })
})
