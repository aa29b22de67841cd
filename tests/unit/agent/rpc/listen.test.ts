import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer as createHttp2Server } from 'node:http2'
import { createConnection, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keepSocket, listenOnSocket } from '../../../../src/agent/rpc/listen.ts'
import { silentLog } from '../../../../src/ipc/base/log.ts'

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

describe('a socket whose file was removed', () => {
  const open = async () => {
    const path = join(dir, 'run', 'agent.sock')
    const server = createHttp2Server((_request, response) => response.end('here')) as unknown as Server
    await listenOnSocket(server, { path, mode: 0o600 })
    const stop = keepSocket(server, { path, mode: 0o600 }, silentLog, 5)
    const client = () => connect('http://agent', { createConnection: () => createConnection(path) })
    const end = async () => {
      await stop()
      server.close()
    }
    return { path, client, end }
  }
  const ask = async (client: ReturnType<typeof connect>): Promise<string> => {
    let text = ''
    for await (const chunk of client.request({ ':path': '/' })) text += chunk
    return text
  }

  it.each(['agent.sock', '.'])('is listened on again, and who was connected stays so: %s', async (removed) => {
    const { path, client, end } = await open()
    const before = client()
    expect(await ask(before)).toBe('here')
    for (let time = 0; time < 2; time++) {
      rmSync(join(dir, 'run', removed), { recursive: true })
      await expect.poll(() => existsSync(path) && modeOf(path)).toBe('600')
      const after = client()
      expect(await ask(after)).toBe('here')
      expect(await ask(before)).toBe('here')
      after.close()
    }
    before.close()
    await once(before, 'close')
    await end()
    expect(existsSync(path)).toBe(false)
  })
})
